"""Files into a store and out of it: of this and of other tools, and all of it as one."""
