"""What Turntree costs, measured: ``python -m bench``, or one of ``storage``, ``turn``, ``browser``.

Nothing here passes or fails a test run: clocks differ from machine to machine, ratios less so.
"""
