"""Waivers in the manifests: ``waivers`` reads them, ``suppression`` applies them."""
