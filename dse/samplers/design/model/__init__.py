"""What the search believes of designs: quantities to guess, and the models that guess them."""
