"""Terms of the bounds that follow from the machine: places of groups, kinds of links, costs."""
