"""What `streamlit run app.py` and `biodesk serve` start: the frame, with a policy that keeps browsers on this host."""

from starlette.middleware import Middleware
from streamlit.starlette import App

from pages._policy import Policy

app = App("desk.py", middleware=[Middleware(Policy)])
