"""A node on a Linux board: a BME280 through Adafruit's driver and Blinka, its readings under custody as any board's."""
