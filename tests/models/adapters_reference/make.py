"""Make the expected outputs of `tests/models/test_bottleneck.py` with the package `adapters`.

It needs a release of transformers that taskloom does not, so this runs by hand in an environment of its own:

    python3 -m venv env && env/bin/pip install torch==2.13.0 adapters==1.3.0 transformers==4.57.6
    env/bin/python tests/models/adapters_reference/make.py

For each family it writes FAMILY.json, the configuration of a tiny model, and FAMILY.safetensors: the model's weights,
those of a `seq_bn` adapter by the names that taskloom gives them, tokens, and the outputs with and without the adapter.
For FUSED families it writes FAMILY_fusion.safetensors: three such adapters and a fusion of them on the weights of
FAMILY.safetensors, and the output with it; and FAMILY_adapter/, the first of them as the package saves it.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import adapters  # type: ignore[import-not-found]
import torch
import transformers as hf
from safetensors.torch import load_file, save_file

WORDS, SIZE, REDUCTION = 36, 16, 4
FUSED = ("bert", "roberta")
NAMES = ("a", "b", "c")
DROPPED = ("transformers_version", "dtype", "torch_dtype", "_name_or_path")
BART: dict[str, Any] = {
    "vocab_size": WORDS, "d_model": SIZE, "encoder_layers": 2, "decoder_layers": 2, "init_std": 0.3,
    "encoder_ffn_dim": 16, "decoder_ffn_dim": 16, "encoder_attention_heads": 2, "decoder_attention_heads": 2,
    "max_position_embeddings": 12, "forced_eos_token_id": None,
}  # fmt: skip
T5: dict[str, Any] = {
    "vocab_size": WORDS, "d_model": SIZE, "d_kv": 4, "d_ff": 16, "num_layers": 2, "num_heads": 2,
    "decoder_start_token_id": 0, "relative_attention_num_buckets": 8,
}  # fmt: skip
BERT: dict[str, Any] = {
    "vocab_size": WORDS, "hidden_size": SIZE, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 16,
    "max_position_embeddings": 12, "initializer_range": 0.3,
}  # fmt: skip
GPT2: dict[str, Any] = {
    "vocab_size": WORDS, "n_embd": SIZE, "n_layer": 2, "n_head": 2, "n_inner": 16, "n_positions": 12,
    "bos_token_id": 1, "eos_token_id": 1, "initializer_range": 0.3,
}  # fmt: skip
MODELS: dict[str, tuple[Any, Any]] = {
    "t5": (hf.T5ForConditionalGeneration, hf.T5Config(**T5)),
    "mt5": (hf.MT5Model, hf.MT5Config(**{**T5, "num_layers": 1}, feed_forward_proj="gated-gelu")),
    "bart": (hf.BartForConditionalGeneration, hf.BartConfig(**BART)),
    "mbart": (hf.MBartModel, hf.MBartConfig(**{**BART, "encoder_layers": 1, "decoder_layers": 1})),
    "bert": (hf.BertModel, hf.BertConfig(**BERT)),
    "roberta": (hf.RobertaModel, hf.RobertaConfig(**{**BERT, "max_position_embeddings": 14})),
    "gpt2": (hf.GPT2LMHeadModel, hf.GPT2Config(**GPT2)),
    "llama": (hf.LlamaForCausalLM, hf.LlamaConfig(**BERT, num_key_value_heads=1)),
}


def our_name(name: str, adapter: str) -> str:
    """Say how taskloom names a weight of an adapter: by its block, within the model without its head."""
    block, _, weight = name.replace(f".adapter_fusion_layer.{adapter}.", f".adapters.{adapter}.").partition(
        f".adapters.{adapter}."
    )
    block = re.sub(r"\.(output_adapters|output|layer\.\d+)$", "", block)
    return f"{block}.{weight.replace('adapter_down.0.', 'down.').replace('adapter_up.', 'up.')}"


@torch.inference_mode()
def output(net: Any, inputs: dict[str, torch.Tensor]) -> torch.Tensor:
    """Give logits, or hidden states where there is no head."""
    given = net(**inputs)
    found: torch.Tensor = given.logits if "logits" in given else given.last_hidden_state
    return found


def make(family: str, folder: Path) -> None:
    """Write the files of a family."""
    kind, config = MODELS[family]
    torch.manual_seed(0)
    net = kind(config).eval()
    weights = {name: value.clone() for name, value in net.state_dict().items()}
    tokens = torch.randint(4, WORDS, (3, 9))
    mask = torch.ones_like(tokens)
    mask[1, 6:] = 0
    inputs = {"input_ids": tokens, "attention_mask": mask}
    if config.is_encoder_decoder:
        inputs["decoder_input_ids"] = torch.randint(4, WORDS, (3, 5))

    without = output(net, inputs)
    adapters.init(net)
    net.add_adapter("a", config=adapters.SeqBnConfig(reduction_factor=REDUCTION))
    net.set_active_adapters("a")
    added = {name: value for name, value in net.base_model.named_parameters() if ".adapters.a." in name}
    with torch.no_grad():
        for value in added.values():
            value.normal_(std=0.5)  # far from 0, so that it matters
    within = output(net.eval(), inputs)

    stored = {f"net/{name}": value for name, value in weights.items()}
    stored |= {f"adapter/{our_name(name, 'a')}": value.detach().clone() for name, value in added.items()}
    stored |= {f"input/{name}": value for name, value in inputs.items()}
    stored |= {"with": within, "without": without}
    save_file({name: value.contiguous() for name, value in stored.items()}, folder / f"{family}.safetensors")
    about = {
        "class": kind.__name__, "reduction": REDUCTION,
        "adapters": adapters.__version__, "transformers": hf.__version__,
        "config": {name: value for name, value in config.to_diff_dict().items() if name not in DROPPED},
    }  # fmt: skip
    (folder / f"{family}.json").write_text(json.dumps(about, indent=1, sort_keys=True) + "\n")


def make_fusion(family: str, folder: Path) -> None:
    """Write the files of a fusion of adapters."""
    kind, config = MODELS[family]
    stored = load_file(folder / f"{family}.safetensors")
    net = kind(config).eval()
    net.load_state_dict({name.removeprefix("net/"): value for name, value in stored.items() if name.startswith("net/")})
    adapters.init(net)
    for name in NAMES:
        net.add_adapter(name, config=adapters.SeqBnConfig(reduction_factor=REDUCTION))
    net.add_adapter_fusion([*NAMES])
    net.set_active_adapters(adapters.composition.Fuse(*NAMES))
    named = {"fusion": ",".join(NAMES), **{f"adapter/{name}": name for name in NAMES}}
    made = {}
    torch.manual_seed(1)
    with torch.no_grad():
        for what, name in named.items():
            part = f".adapter_fusion_layer.{name}." if what == "fusion" else f".adapters.{name}."
            for weight, value in net.base_model.named_parameters():
                if part in weight:
                    value.normal_(std=0.5)
                    made[f"{what}/{our_name(weight, name)}"] = value.detach().clone()
    inputs = {name.removeprefix("input/"): value for name, value in stored.items() if name.startswith("input/")}
    made["with"] = output(net.eval(), inputs)
    save_file({name: value.contiguous() for name, value in made.items()}, folder / f"{family}_fusion.safetensors")
    net.save_adapter(str(folder / f"{family}_adapter"), NAMES[0], use_safetensors=True)


if __name__ == "__main__":
    for name in MODELS:
        make(name, Path(__file__).parent)
    for name in FUSED:
        make_fusion(name, Path(__file__).parent)
