"""Language models of servers: the OpenAI protocol spoken directly, and every other provider through LiteLLM.

Nothing here imports a client library before a model is asked for the first time.
"""
