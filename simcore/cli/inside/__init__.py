"""Commands about the inside of a package: arrays of multiply-add units, networks on the chip."""
