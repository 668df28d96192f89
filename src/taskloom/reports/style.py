"""The style of pages: light and dark, wide and narrow, screen and print."""

CSS = """
:root{color-scheme:light dark;--ink:#1c2024;--soft:#5c656e;--paper:#fff;--tint:#f4f5f7;--edge:#d8dce1;--accent:#1f5fbf;
--good:#176b3a;--bad:#b3261e;--c0:#1f5fbf;--c1:#c2500a;--c2:#177a5b;--c3:#a8327d;--c4:#6a4fc2;--c5:#8a6d00;--c6:#0b7c93;
--c7:#6b6f76;--c8:#7b4a2d;--c9:#c4313a}
@media(prefers-color-scheme:dark){:root{--ink:#e6e8eb;--soft:#a0a8b1;--paper:#14171a;--tint:#1e2226;--edge:#363c43;
--accent:#7fb0ff;--good:#6fd39a;--bad:#ff9a92;--c0:#7fb0ff;--c1:#ff9e5e;--c2:#5fd0a8;--c3:#f08bcb;--c4:#b5a2ff;--c5:#e0c04a;
--c6:#5fcfe6;--c7:#a5abb3;--c8:#d2a282;--c9:#ff8f94}}
*{box-sizing:border-box}
body{margin:0 auto;padding:1rem;max-width:68rem;background:var(--paper);color:var(--ink);
font:1rem/1.5 system-ui,sans-serif;overflow-wrap:anywhere}
h1{font-size:1.6rem;line-height:1.2;margin:.5rem 0}h2{font-size:1.25rem;margin:2.2rem 0 .6rem;padding-top:.6rem;
border-top:1px solid var(--edge)}h3{font-size:1rem;margin:1.2rem 0 .4rem}
p,ul{margin:.5rem 0}a{color:var(--accent)}nav ul,.key{
display:flex;flex-wrap:wrap;gap:.2rem 1rem;list-style:none;padding:0}
.soft{color:var(--soft)}small,.small{font-size:.85rem}
.warn{border-left:4px solid var(--bad);background:var(--tint);padding:.5rem .8rem}
.box{overflow-x:auto;max-width:100%;margin:.6rem 0;background:linear-gradient(90deg,var(--paper) 30%,transparent),
linear-gradient(270deg,var(--paper) 30%,transparent) 100% 0,linear-gradient(90deg,var(--edge),transparent),
linear-gradient(270deg,var(--edge),transparent) 100% 0;background-repeat:no-repeat;
background-attachment:local,local,scroll,scroll;background-size:3rem 100%,3rem 100%,.7rem 100%,.7rem 100%}
table{border-collapse:collapse;font-variant-numeric:tabular-nums}
th,td{text-align:left;padding:.3rem .9rem .3rem 0;border-bottom:1px solid var(--edge);vertical-align:top;
overflow-wrap:normal}
thead th{color:var(--soft);font-weight:600;font-size:.85rem;white-space:nowrap}
tbody th{font-weight:400;min-width:6rem;max-width:22rem;overflow-wrap:break-word}
tbody td{overflow-wrap:break-word}.loose td{overflow-wrap:anywhere;min-width:9rem;white-space:pre-line}
td.n,.n td{white-space:nowrap;overflow-wrap:normal}td i{font-style:normal;color:var(--soft);font-size:.85rem}
td.best b{color:var(--accent)}
td b{font-weight:600}sup{color:var(--soft);font-size:.75rem;line-height:0}
.plots{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,22rem),1fr));gap:1rem 2rem;margin:1rem 0}
figure{margin:0;max-width:32rem;break-inside:avoid}figcaption{color:var(--soft);font-size:.85rem}
.plot{display:block;width:100%;height:auto;font-family:inherit}
.plot text{fill:var(--ink);font-size:13px;paint-order:stroke;stroke:var(--paper);stroke-width:4px}
.plot .tick{fill:var(--soft);font-size:12px}.plot .value{fill:var(--soft)}
.grid{stroke:var(--edge);stroke-width:1}.zero{stroke:var(--ink);stroke-width:1.2}
.plot line.baseline{stroke:var(--soft);stroke-width:1.5;stroke-dasharray:4 3}
.bar{stroke:var(--soft);stroke-width:2.5;stroke-linecap:round}.dot{fill:var(--paper);stroke:var(--soft);stroke-width:2}
.best .bar,.apart .bar{stroke:var(--accent)}.best .dot,.apart .dot{fill:var(--accent);stroke:var(--accent)}
.count{fill:var(--accent)}.figures td,.figures th+th{text-align:right}.figures td:last-child,.figures th:last-child{
padding-right:0}.spreads{columns:22rem;column-gap:2rem}.spreads section{break-inside:avoid;padding-bottom:1rem}
.spreads h3{margin-top:0}
.row:hover .name,.row:hover .value{font-weight:600}
.hollow .mark{fill:var(--paper);stroke:var(--hue);stroke-width:2}.even{stroke:var(--soft);stroke-dasharray:4 3}
.heat{fill:var(--hue)}.plot .inside{font-size:12px;stroke:none}.published .dot{stroke:var(--c1)}
.line{fill:none;stroke:var(--hue);stroke-width:2}.band{fill:var(--hue);opacity:.13}.mark{fill:var(--hue)}
.hue0{--hue:var(--c0)}.hue1{--hue:var(--c1)}.hue2{--hue:var(--c2)}.hue3{--hue:var(--c3)}.hue4{--hue:var(--c4)}
.hue5{--hue:var(--c5)}.hue6{--hue:var(--c6)}.hue7{--hue:var(--c7)}.hue8{--hue:var(--c8)}.hue9{--hue:var(--c9)}
.swatch{width:1.75rem;height:.65rem;margin-right:.35rem}.key{font-size:.85rem}
details{border:1px solid var(--edge);border-radius:.4rem;padding:.4rem .8rem;margin:.5rem 0}
summary{cursor:pointer}details[open]>summary{margin-bottom:.4rem}
pre{background:var(--tint);padding:.6rem .8rem;border-radius:.3rem;white-space:pre-wrap;font-size:.85rem;margin:.5rem 0}
code{font-size:.9em}td.given{white-space:pre-wrap;overflow-wrap:anywhere;min-width:9rem}.right{color:var(--good)}.wrong{color:var(--bad)}
dl{margin:.4rem 0}dt{color:var(--soft);font-size:.85rem;margin-top:.5rem}dd{margin:0;white-space:pre-wrap}
@media print{body{max-width:none;font-size:10pt}nav{display:none}.box{overflow:visible}details{border:0;padding:0}
tr,figure{break-inside:avoid}}
"""
