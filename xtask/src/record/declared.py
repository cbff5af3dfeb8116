"""Runs the setup.py of the current folder with a stand-in for setuptools and prints what it declares.

The example fleet's own files are trusted. What is recorded so does not come from the evaluator that it tests.
"""

import json
import sys
import types

facts = {}
stand_in = types.ModuleType("setuptools")
stand_in.setup = lambda **keywords: facts.update(keywords)
stand_in.find_packages = lambda *args, **keywords: []
sys.modules["setuptools"] = stand_in
exec(compile(open("setup.py").read(), "setup.py", "exec"), {"__name__": "__main__"})
wanted = ("name", "version", "python_requires", "install_requires", "extras_require")
json.dump({key: facts[key] for key in wanted}, sys.stdout)
