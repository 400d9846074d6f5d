"""Biodesk's engine: from a question and files to a checked plan, a watched run and a report.

Read `engine.orchestrator` first: it is the way from question to report on one screen. Then
`engine.domain` (the values that flow), `engine.ports` (what the outside must provide),
`engine.toolbox` (the tools a plan is made of), `engine.asking` (from a question to a plan) and `engine.steps` (carrying
it out).
Pages, the command line and scripts import `engine.api` and nothing else.

This file imports nothing on purpose: `storage` imports `engine.domain`, which executes this file, so a
re-export of the facade here would be a circular import.
"""
