"""Systems that answer queries: asked live, one pool of workers for all kinds, every answer kept when it comes."""
