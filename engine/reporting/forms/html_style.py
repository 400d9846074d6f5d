"""How the HTML report looks: a calm page that prints well and follows the reader's light or dark setting."""

STYLE = """
:root { color-scheme: light dark; --text: #1d2733; --soft: #5b6878; --line: #d9dfe6; --back: #ffffff;
  --panel: #f5f7f9; --accent: #0b6e75; --warn-back: #fdf4e3; --warn-line: #c98a1b; --target: #fff1b8; }
@media (prefers-color-scheme: dark) { :root { --text: #dde4ea; --soft: #98a5b3; --line: #34404c; --back: #12181f;
  --panel: #1a222b; --accent: #5cc4c4; --warn-back: #2e2615; --warn-line: #c98a1b; --target: #4d4216; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 62rem; padding: 2.5rem 1.5rem 4rem; background: var(--back); color: var(--text);
  font: 1rem/1.6 system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; }
h1 { font-size: 1.75rem; line-height: 1.25; margin: 0 0 .75rem; font-weight: 650; text-wrap: balance; }
h2 { font-size: 1.2rem; margin: 2.75rem 0 .75rem; padding-bottom: .3rem; border-bottom: 1px solid var(--line); }
h3 { font-size: 1rem; margin: 1.75rem 0 .4rem; }
p, ul, ol { margin: .5rem 0; }
ul, ol { padding-left: 1.3rem; }
li { margin: .3rem 0; }
a { color: var(--accent); text-underline-offset: .15em; }
a.number { text-decoration: underline dotted; font-variant-numeric: tabular-nums; }
a:focus-visible, summary:focus-visible, .scroll:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
.soft { color: var(--soft); font-size: .875rem; }
.status { border-left: 4px solid var(--accent); background: var(--panel); padding: .7rem 1rem; margin: 1rem 0; }
.status.warn { border-color: var(--warn-line); background: var(--warn-back); }
.status p { margin: .15rem 0; }
blockquote { margin: .5rem 0 1rem; padding-left: 1rem; border-left: 3px solid var(--line); color: var(--soft); }
.summary li { margin: .45rem 0; }
figure { margin: 1.25rem 0; }
figure img { max-width: 100%; max-height: 36rem; height: auto; display: block; background: #fff; padding: .5rem;
  border: 1px solid var(--line); border-radius: 4px; }
figcaption { color: var(--soft); font-size: .875rem; margin-top: .4rem; }
.answer { font-size: 1.2rem; line-height: 1.5; margin: .8rem 0; }
.scroll { overflow: auto; max-height: 50vh; border: 1px solid var(--line); border-radius: 4px; margin: .6rem 0 .3rem; }
table { border-collapse: collapse; font-size: .8125rem; width: 100%; font-variant-numeric: tabular-nums; }
caption { text-align: left; padding: .5rem .6rem; font-weight: 600; font-size: .875rem; }
th, td { padding: .28rem .6rem; text-align: left; white-space: nowrap; border-top: 1px solid var(--line); }
th.n:first-child { width: 1%; }
thead th { background: var(--panel); font-weight: 600; position: sticky; top: 0; }
/* A row that a link leads to stops so far down that its header is seen above it, in the table and on the page. */
tbody tr, tbody td { scroll-margin: 45vh 12rem 0; }
td.n, th.n { text-align: right; }
td.gap { text-align: center; color: var(--soft); }
tbody th { font-weight: 400; color: var(--soft); }
tr:target > *, tr:has(> td:target) > *, figure:target, .scroll:target { background: var(--target); }
td:target { outline: 2px solid var(--accent); outline-offset: -2px; font-weight: 600; }
tr.cited > th { color: var(--accent); font-weight: 600; }
code, pre { font-family: ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace; font-size: .8125rem; }
pre { background: var(--panel); border: 1px solid var(--line); border-radius: 4px; padding: .8rem; overflow-x: auto; }
.hash { font-family: ui-monospace, Menlo, Consolas, monospace; font-size: .75rem; overflow-wrap: anywhere; }
details { margin: .3rem 0 1.5rem; }
details.rest > summary { font-size: 1.05rem; margin-top: 2rem; }
summary { cursor: pointer; color: var(--accent); font-size: .875rem; }
.refs li { overflow-wrap: anywhere; }
.tag { font-size: .75rem; border: 1px solid var(--warn-line); border-radius: 3px; padding: 0 .3rem; }
@media print {
  :root { color-scheme: light; --text: #000; --soft: #444; --line: #bbb; --back: #fff; --panel: #fff; --accent: #000;
    --warn-back: #fff; }
  body { max-width: none; padding: 0; font-size: 10pt; }
  .scroll { overflow: visible; max-height: none; border: 0; }
  th, td { white-space: normal; overflow-wrap: anywhere; padding: .15rem .3rem; font-size: 7.5pt; }
  thead { display: table-header-group; }
  tr, figure { break-inside: avoid; }
  h2, h3 { break-after: avoid; }
  details:not([open], .rest) { display: none; }
  details.rest::details-content { content-visibility: visible; }
  details.rest > summary { list-style: none; }
  @page { margin: 18mm 15mm; }
}
"""
