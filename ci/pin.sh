# Takes the configuration, and the files that decide what is found, from a commit: for the steps of action.yml that
# judge, which read it in ("."). It needs INPUT_PIN, INPUT_CLUSTER, kubesched_lint() and fail(); it adds to `arguments`.
# A step in its place would have to hand them over in a file, and each step would have to notice that there is none.

# A pull request can bring a folder that git would take for a repository of its own.
git() { command git -c safe.bareRepository=explicit "$@"; }

for argument in ${arguments[@]+"${arguments[@]}"}; do
  case "$argument" in --config | --config=*) fail "pin: args cannot name a configuration: it would be the pull request's" ;; esac
done
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
# What decides what is found, by the pinned configuration (also for its targets) and the arguments: clusters, the
# baseline, own rules and cards. Waivers are in the manifests; the report counts them.
copy="$RUNNER_TEMP/kubesched-pinned"
rm -rf "$copy"
mkdir -p "$copy"
named=$(kubesched_lint config files "${arguments[@]}" ${INPUT_CLUSTER:+--cluster "$INPUT_CLUSTER"}) ||
  fail "pin: its configuration cannot be read"
here=$(git rev-parse --show-prefix)
if [ -n "$named" ]; then
  files=()
  while IFS= read -r line; do files+=("$here$line"); done <<< "$named"
  git -C "$(git rev-parse --show-toplevel)" --literal-pathspecs archive "$commit" -- "${files[@]}" |
    tar -x -C "$copy" || fail "pin: it lacks a file that its configuration or an argument names"
fi
arguments+=(--files-from "$copy/$here")
