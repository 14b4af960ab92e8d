"""Networks in plain torch, with the parameter names under which torchvision publishes their weights.

Each module here imports torch; whoever imports one has made sure that it is there. The package itself does not.
"""
