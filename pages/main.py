"""The script: page frame and navigation. Every page is a file beside this one."""

import streamlit as st

from core import endpoints
from core.errors import StoreError
from pages import backend
from pages.components import frame

# Before anything can stop: otherwise Streamlit takes this folder for its old kind of pages.
page = st.navigation(
    [
        st.Page("playground.py", title="Playground", url_path="playground", default=True),
        st.Page("compare.py", title="Compare", url_path="compare"),
        st.Page("sessions.py", title="Sessions", url_path="sessions"),
        st.Page("library.py", title="Library", url_path="library"),
        st.Page("runs.py", title="Runs", url_path="runs"),
        st.Page("settings.py", title="Settings", url_path="settings"),
    ],
    position="hidden",
)
st.set_page_config(page_title="Turntree", page_icon="🌳", layout="wide")
frame.dress()
try:
    # What another process added to the same file is there when a page is opened.
    endpoints.reload(backend.runner().store)
except StoreError as error:
    frame.cannot_open(error)
    st.stop()
page.run()
