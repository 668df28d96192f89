"""What to cite: taskloom, the suite, and the papers that metrics come from."""

from __future__ import annotations

from collections.abc import Mapping

from .. import __version__
from .summary import Summary

TASKLOOM = f"""@software{{taskloom,
  title = {{taskloom: suites of tasks, and how well learners adapt to them}},
  version = {{{__version__}}},
  year = {{2026}}
}}"""
BPREF = """@inproceedings{buckley2004retrieval,
  author = {Buckley, Chris and Voorhees, Ellen M.},
  title = {Retrieval evaluation with incomplete information},
  booktitle = {SIGIR},
  pages = {25--32},
  year = {2004}
}"""
PAPERS: Mapping[str, str] = {  # by the metric's name before @ and :
    "rouge-l": """@inproceedings{lin2004rouge,
  author = {Lin, Chin-Yew},
  title = {{ROUGE}: A package for automatic evaluation of summaries},
  booktitle = {Text Summarization Branches Out},
  pages = {74--81},
  year = {2004}
}""",
    "bleu-4": """@inproceedings{papineni2002bleu,
  author = {Papineni, Kishore and Roukos, Salim and Ward, Todd and Zhu, Wei-Jing},
  title = {{BLEU}: a method for automatic evaluation of machine translation},
  booktitle = {ACL},
  pages = {311--318},
  year = {2002}
}""",
    "bpref": BPREF,
    "ndcg": """@article{jarvelin2002cumulated,
  author = {J{\\"a}rvelin, Kalervo and Kek{\\"a}l{\\"a}inen, Jaana},
  title = {Cumulated gain-based evaluation of {IR} techniques},
  journal = {ACM Transactions on Information Systems},
  volume = {20},
  number = {4},
  pages = {422--446},
  year = {2002}
}""",
    "b-cubed": """@inproceedings{bagga1998entity,
  author = {Bagga, Amit and Baldwin, Breck},
  title = {Entity-based cross-document coreferencing using the vector space model},
  booktitle = {ACL-COLING},
  pages = {79--85},
  year = {1998}
}""",
    "tau-b": """@article{kendall1945treatment,
  author = {Kendall, Maurice G.},
  title = {The treatment of ties in ranking problems},
  journal = {Biometrika},
  volume = {33},
  number = {3},
  pages = {239--251},
  year = {1945}
}""",
}
OWEN = """@article{owen2007pigeonhole,
  author = {Owen, Art B.},
  title = {The pigeonhole bootstrap},
  journal = {The Annals of Applied Statistics},
  volume = {1},
  number = {2},
  pages = {386--411},
  year = {2007}
}"""


def entries(summary: Summary) -> list[str]:
    """Give the BibTeX of all that a study rests on."""
    names = dict.fromkeys(signature.partition("|")[0] for found in summary.signatures.values() for signature in found)
    suite = summary.about.get("bibtex")
    papers = [PAPERS[name] for name in names if name in PAPERS]
    return [TASKLOOM, *([suite] if isinstance(suite, str) else []), *papers, *([OWEN] if papers or names else [])]
