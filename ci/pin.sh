# Takes the configuration and the cluster files from a commit: for the steps of action.yml that judge, which read it in
# ("."). It needs INPUT_PIN, INPUT_CLUSTER, kubesched_lint() and fail(); it adds to `arguments` and may change INPUT_CLUSTER.
# A step in its place would have to hand both over in a file, and each step would have to notice that there is none.

# A pull request can bring a folder that git would take for a repository of its own.
git() { command git -c safe.bareRepository=explicit "$@"; }

commit=$(git rev-parse --verify --quiet --end-of-options "$INPUT_PIN^{commit}") ||
  fail "pin: there is no such commit here; check out with fetch-depth: 0"
# Beside the one that it stands for: paths in it are relative.
pinned=.kubesched-pinned.toml shared=.kubesched-pinned-pyproject.toml
rm -rf "$pinned" "$shared"
if git cat-file -e "$commit:./kubesched.toml" 2> /dev/null; then
  git cat-file blob "$commit:./kubesched.toml" > "$pinned"
  pin=(--config "$pinned")
elif git cat-file blob "$commit:./pyproject.toml" 2> /dev/null | grep "tool\.[\"']\?kubesched-lint" > /dev/null; then
  git cat-file blob "$commit:./pyproject.toml" > "$shared"
  pin=(--config "$shared")
else
  pin=(--no-config)
fi
arguments+=("${pin[@]}")
if [ -n "$INPUT_CLUSTER" ]; then
  cluster="$RUNNER_TEMP/kubesched-pinned-$(basename "$INPUT_CLUSTER")"
  git cat-file blob "$commit:./$INPUT_CLUSTER" > "$cluster" || fail "pin: it has no such cluster file"
  INPUT_CLUSTER=$cluster
else
  # The cluster files that the pinned configuration names, also for its targets.
  clusters="$RUNNER_TEMP/kubesched-pinned-clusters"
  rm -rf "$clusters"
  mkdir -p "$clusters"
  named=$(kubesched_lint config clusters "${pin[@]}") || fail "pin: its configuration cannot be read"
  if [ -n "$named" ]; then
    here=$(git rev-parse --show-prefix)
    files=()
    while IFS= read -r line; do files+=("$here$line"); done <<< "$named"
    git -C "$(git rev-parse --show-toplevel)" --literal-pathspecs archive "$commit" -- "${files[@]}" |
      tar -x -C "$clusters" || fail "pin: it lacks a cluster file that its configuration names"
    arguments+=(--clusters-from "$clusters/$here")
  fi
fi
