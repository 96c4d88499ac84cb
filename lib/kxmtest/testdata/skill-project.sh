# The project in which the examples of skills/kxm run: a fact, a value that a person
# promoted, and two proposals that contradict each other.
set -e
git init -q -b main .
git config user.email ada@example.com
kxm-memory init --project demo
candidate=$(kxm-memory note "Use pnpm, not npm, in this repository" --kind convention | jq -r .candidate)
kxm-memory promote "$candidate" --id use-pnpm --authority instruction --confidence verified
printf '\nThe lock file of npm is ignored.\n' >>.kxm/memory/use-pnpm.md
echo "# How to work here" >AGENTS.md
kxm-memory sync
kxm-state init
git add -A
git commit -q -m "start"
proposal=$(kxm-state propose release.branch "Releases are cut from the main branch" --evidence pr:12 --confidence verified --as planner-1 | jq -r .proposalId)
kxm-state promote "$proposal" --evidence review:pr-12
kxm-state propose deploy.target "Deploys go to the cluster in Oslo" --evidence pr:20 --as planner-1
kxm-state propose deploy.target "Deploys go to the cluster in Bergen" --evidence pr:21 --as critic-1
