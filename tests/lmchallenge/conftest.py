from tests.models_registry.conftest import tiny_models

__all__ = ["tiny_models"]
