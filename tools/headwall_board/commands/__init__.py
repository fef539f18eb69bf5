"""The subcommands of `headwall board`, one a file, each with `register(app)`. The table is in headwall_board.cli."""
