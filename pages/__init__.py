"""The pages: with ``app.py`` the only place that knows of Streamlit."""
