"""Random numbers by seed."""
import random


class Dice(random.Random):
    def often(self, share):
        return self.random() < share

    def number(self, low, high):
        return round(self.uniform(low, high), 3)
