from tests.lmgym.models.conftest import tiny_models

__all__ = ["tiny_models"]
