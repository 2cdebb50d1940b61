"""What a task's environment is built from: its Dockerfile as a recipe, its build context, the base it stands on."""
