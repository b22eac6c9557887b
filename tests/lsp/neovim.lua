-- What somebody does in Neovim: open, look, hover, fix, break, mend, quit.
local function wait(what, is_there)
  assert(vim.wait(20000, is_there, 20), what .. " never came")
end
local function found(rule)
  return vim.tbl_filter(function(d) return d.code == rule end, vim.diagnostic.get(0))
end
local RULE = "anti-affinity-exceeds-domains"
vim.lsp.enable("kubesched_lint")
vim.cmd("edit manifests/cache.yaml")
vim.cmd("doautocmd FileType")
wait("the finding", function() return #found(RULE) == 1 end)
local d = found(RULE)[1]
print("finding at", d.lnum, d.col, d.severity)
local client = vim.lsp.get_clients({ bufnr = 0 })[1]
print("encoding", client.offset_encoding)
local function ask(method, params)
  local answer = client:request_sync(method, params, 20000, 0)
  assert(answer and not answer.err, vim.inspect(answer))
  return answer.result
end
local uri = { uri = vim.uri_from_bufnr(0) }
wait("the lens", function()
  vim.lsp.codelens.refresh({ bufnr = 0 })
  vim.wait(300)
  local lens = vim.lsp.codelens.get(0)[1]
  if lens then print("lens", lens.command.title) end
  return lens ~= nil and not lens.command.title:find("…")
end)
print("hover", ask("textDocument/hover", { textDocument = uri, position = { line = 17, character = 20 } }).contents.value:sub(1, 40))
print("why", ask("textDocument/hover", { textDocument = uri, position = { line = 4, character = 9 } }).contents.value:sub(1, 60))
vim.api.nvim_win_set_cursor(0, { 18, 15 })
vim.lsp.buf.code_action({ apply = true, filter = function(a) return a.kind == "quickfix" end })
wait("the edit", function() return table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, true), "\n"):find("topologySpreadConstraints") ~= nil end)
wait("no finding", function() return #found(RULE) == 0 end)
vim.cmd("undo")
wait("the finding again", function() return #found(RULE) == 1 end)
vim.api.nvim_buf_set_lines(0, 0, 0, true, { "# 🦔", "oops: [" })
wait("the fault", function() return #vim.diagnostic.get(0) == 2 and found(RULE)[1].lnum == 19 end)
vim.cmd("undo")
wait("no fault", function() return #vim.diagnostic.get(0) == 1 and found(RULE)[1].lnum == 17 end)
print("done")
client:stop()
wait("the end", function() return client:is_stopped() end)
vim.wait(200)
vim.cmd("qa!")
