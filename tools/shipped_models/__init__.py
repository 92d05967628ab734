"""Makes the models that come with the package, and the page about them."""
