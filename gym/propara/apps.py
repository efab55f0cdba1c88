from django.apps import AppConfig


class ProParaConfig(AppConfig):
    name = "gym.propara"
    label = "propara"
    verbose_name = "ProPara"
