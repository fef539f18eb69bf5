# Runs before main.py, also when somebody only wants the prompt: so nothing of Headwall is started here.
