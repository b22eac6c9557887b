-- Neovim 0.11 or newer: copy this to ~/.config/nvim/lsp/kubesched_lint.lua and call
-- vim.lsp.enable("kubesched_lint") in init.lua.
return {
  cmd = { "kubesched-lint", "lsp" },
  filetypes = { "yaml", "json" },
  root_markers = { "kubesched.toml", ".git" },
  on_attach = function(client, buffer)
    vim.api.nvim_create_autocmd({ "BufEnter", "CursorHold", "InsertLeave" }, {
      buffer = buffer,
      callback = function() vim.lsp.codelens.refresh({ bufnr = buffer }) end,
    })
  end,
}
