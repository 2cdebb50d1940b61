"""What a task's environment is built from.

A Dockerfile as a recipe, its build context, the base it stands on; archives of images, read and written; and image
builders of other makers for what a recipe cannot hold.
"""
