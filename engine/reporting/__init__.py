"""What a reader takes away from a run, in every form it can be taken.

`compose` makes the `Report` (words, numbers, limits) by rule; the renderers only show it:

===========  =====================================  ============================================================
form         made by                                what it is
===========  =====================================  ============================================================
`md`         `markdown.render(view, registry)`      text; figures refer to `artifacts/NAME`
`html`       `html.render(view, artifacts, ...)`    one self-contained file; numbers link to the table row behind
`pdf`        `pdf.render(view, artifacts, ...)`     the same for printing
`json`       `engine.provenance.recorder`           the provenance record
run.json     `run_json.render(view, registry)`      the run as one JSON object, for programs
notebook     `engine.provenance.notebook`           the analysis as code that runs without Biodesk
folder       `bundle.write_bundle`                  all of the above with the artifacts and the data
===========  =====================================  ============================================================

Every form says first what finished and what did not, and why.
"""
