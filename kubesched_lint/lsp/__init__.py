"""The language server: translates between editors and warm sessions. Needs the extra ``lsp``."""
