package fault

import "slices"

// Code names a kind of refusal or failure. Codes are part of the contract with
// scripts: they are added, never renamed.
type Code string

// Exit statuses (see README, "Exit status").
const (
	ExitOK       = 0 // done; yes, clean, or an empty list
	ExitNo       = 1 // done, and the answer is no
	ExitUsage    = 2 // not started: bad flag, argument or configuration
	ExitFailed   = 3 // could not finish: I/O, Git, an outside program
	ExitBadInput = 4 // input is not what its schema says
	ExitRetry    = 5 // try again: nothing was written
)

// The codes that more than one part uses.
const (
	Usage                     Code = "usage"
	ConfigInvalid             Code = "config_invalid"
	ConfigKeyUnknown          Code = "config_key_unknown"
	ConfigKeyNotAllowed       Code = "config_key_not_allowed"
	ProjectNotConfigured      Code = "project_not_configured"
	ActorUnknown              Code = "actor_unknown"
	NotARepository            Code = "not_a_repository"
	IOFailed                  Code = "io_failed"
	GitFailed                 Code = "git_failed"
	GitUnavailable            Code = "git_unavailable"
	RepositoryUnsupported     Code = "repository_unsupported"
	RepositoryNotOwned        Code = "repository_not_owned"
	ObjectMissing             Code = "object_missing"
	ObjectCorrupt             Code = "object_corrupt"
	ObjectTooLarge            Code = "object_too_large"
	RefBroken                 Code = "ref_broken"
	RevisionNotFound          Code = "revision_not_found"
	InvalidJSON               Code = "invalid_json"
	InvalidContextItem        Code = "invalid_context_item"
	InvalidContextField       Code = "invalid_context_field"
	ContextLimitsExceeded     Code = "context_limits_exceeded"
	ProtocolError             Code = "protocol_error"
	ContextAuthorityViolation Code = "context_authority_violation"
	ContextIsolationViolation Code = "context_isolation_violation"
	SecretFound               Code = "secret_found"
	RedactionUnavailable      Code = "redaction_unavailable"
	PathEscapes               Code = "path_escapes"
	TreeRefused               Code = "tree_refused"
	InvalidFrontMatter        Code = "invalid_front_matter"
	FileChanged               Code = "file_changed"
)

// Codes of authored memory.
const (
	InvalidMemoryFile  Code = "invalid_memory_file"
	MemoryUnreadable   Code = "memory_unreadable"
	MemoryDuplicate    Code = "memory_duplicate"
	MemoryNotFound     Code = "memory_not_found"
	MemoryIDTaken      Code = "memory_id_taken"
	MemoryCheckFailed  Code = "memory_check_failed"
	MemoryBlockStale   Code = "memory_block_stale"
	MemorySyncFailed   Code = "memory_sync_failed"
	MergeConflict      Code = "merge_conflict"
	SetupIncomplete    Code = "setup_incomplete"
	HookNotOurs        Code = "hook_not_ours"
	CandidateAmbiguous Code = "candidate_ambiguous"
)

// Codes of governed skills.
const (
	SkillNotFound              Code = "skill_not_found"
	SkillIntegrityViolation    Code = "skill_integrity_violation"
	SkillPromotionInvalid      Code = "skill_promotion_invalid"
	SkillEvaluationsIncomplete Code = "skill_evaluations_incomplete"
	SkillSourcesRequired       Code = "skill_sources_required"
	InvalidSkillFrontmatter    Code = "invalid_skill_frontmatter"
	InvalidSkillName           Code = "invalid_skill_name"
	InvalidSkillMetadata       Code = "invalid_skill_metadata"
	SkillCandidateExists       Code = "skill_candidate_exists"
	SkillsBusy                 Code = "skills_busy"
)

// Codes of temporal state and the journal.
const (
	StatePromotionInvalid      Code = "state_promotion_invalid"
	StateProposerMismatch      Code = "state_proposer_mismatch"
	StateProposalNotFound      Code = "state_proposal_not_found"
	StateProposalNotPromotable Code = "state_proposal_not_promotable"
	StateContradiction         Code = "state_contradiction"
	StateKeyNotFound           Code = "state_key_not_found"
	StateEventNotFound         Code = "state_event_not_found"
	StateEventFuture           Code = "state_event_future"
	StatePersonRequired        Code = "state_person_required"
	InvalidAuth                Code = "invalid_auth"
	InvalidStateEvent          Code = "invalid_state_event"
	AdminAuthNotConfigured     Code = "admin_auth_not_configured"
	StateTrustUnresolved       Code = "state_trust_unresolved"
	SigningKeyMissing          Code = "signing_key_missing"
	SigningKeyEncrypted        Code = "signing_key_encrypted"
	SigningKeyInvalid          Code = "signing_key_invalid"
	SigningFailed              Code = "signing_failed"
	StateVerifyFailed          Code = "state_verify_failed"
	StateFormatUnknown         Code = "state_format_unknown"
	StateRefBroken             Code = "state_ref_broken"
	StateQuarantine            Code = "state_quarantine"
	StateConflict              Code = "state_conflict"
	StateBusy                  Code = "state_busy"
	StateSyncRejected          Code = "state_sync_rejected"
)

// Codes of the wiki.
const (
	WikiPoolUnavailable Code = "wiki_pool_unavailable"
	WikiPageNotOurs     Code = "wiki_page_not_ours"
	WikiPageEdited      Code = "wiki_page_edited"
	WikiStale           Code = "wiki_stale"
	WikiLintFailed      Code = "wiki_lint_failed"
	WikiChanged         Code = "wiki_changed"
)

// Codes of packets.
const (
	ItemNotFound   Code = "item_not_found"
	NoMatch        Code = "no_match"
	InvalidPacket  Code = "invalid_packet"
	InvalidStep    Code = "invalid_step"
	InvalidHandoff Code = "invalid_handoff"
)

// Codes of plugins and capability sets.
const (
	PluginDescriptorInvalid Code = "plugin_descriptor_invalid"
	CapabilityInvalid       Code = "capability_invalid"
)

// Codes of the prompt compiler.
const (
	PromptInputInvalid           Code = "prompt_input_invalid"
	PromptSectionDuplicate       Code = "prompt_section_duplicate"
	PromptSectionReserved        Code = "prompt_section_reserved"
	PromptBudgetInvalid          Code = "prompt_budget_invalid"
	PromptVariantSectionTooLarge Code = "prompt_variant_section_too_large"
	PromptCapabilitiesInvalid    Code = "prompt_capabilities_invalid"
	PromptHistoryInvalid         Code = "prompt_history_invalid"
	PromptUnattributed           Code = "prompt_unattributed"
	PromptPrefixChanged          Code = "prompt_prefix_changed"
	PromptPrefixShort            Code = "prompt_prefix_short"
	PromptNoSnapshot             Code = "prompt_no_snapshot"
	PromptNoCheckpoint           Code = "prompt_no_checkpoint"
	PromptNotRecorded            Code = "prompt_not_recorded"
	PromptRecordFailed           Code = "prompt_record_failed"
	PromptTextUnknown            Code = "prompt_text_unknown"
)

// Codes of locks, refs and the event log.
const (
	LockHeld    Code = "lock_held"
	RefMoved    Code = "ref_moved"
	RefLocked   Code = "ref_locked"
	RefConflict Code = "ref_conflict"
)

// Codes of browser sessions on a Steel server.
const (
	SteelUsage             Code = "steel_usage"
	SteelNoEndpoint        Code = "steel_no_endpoint"
	SteelBadEndpoint       Code = "steel_bad_endpoint"
	SteelInsecureEndpoint  Code = "steel_insecure_endpoint"
	SteelNoKey             Code = "steel_no_key"
	SteelBadKey            Code = "steel_bad_key"
	SteelUnauthorized      Code = "steel_unauthorized"
	SteelTimeoutRange      Code = "steel_timeout_range"
	SteelSessionAmbiguous  Code = "steel_session_ambiguous"
	SteelURLRefused        Code = "steel_url_refused"
	SteelStateUnsafe       Code = "steel_state_unsafe"
	SteelSessionNotFound   Code = "steel_session_not_found"
	SteelHumanInControl    Code = "steel_human_in_control"
	SteelTakeoverInvalid   Code = "steel_takeover_invalid"
	SteelOrphansFound      Code = "steel_orphans_found"
	SteelScrapeLive        Code = "steel_scrape_session_live"
	SteelDoctorFailed      Code = "steel_doctor_failed"
	SteelUnreachable       Code = "steel_unreachable"
	SteelNotSteel          Code = "steel_not_steel"
	SteelRedirected        Code = "steel_redirected"
	SteelServerError       Code = "steel_server_error"
	SteelKeyCommandFailed  Code = "steel_key_command_failed"
	SteelCreateFailed      Code = "steel_create_failed"
	SteelIDMismatch        Code = "steel_id_mismatch"
	SteelReleaseFailed     Code = "steel_release_failed"
	SteelNavigationFailed  Code = "steel_navigation_failed"
	SteelBadResponse       Code = "steel_bad_response"
	SteelStateCorrupt      Code = "steel_state_corrupt"
	SteelEndpointBusy      Code = "steel_endpoint_busy"
	SteelEndpointInUse     Code = "steel_endpoint_in_use"
	SteelSessionBusy       Code = "steel_session_busy"
	SteelRateLimited       Code = "steel_rate_limited"
	SteelServerBusy        Code = "steel_server_busy"
	SteelSecretInArgv      Code = "steel_secret_in_argv"
	SteelFileUnreadable    Code = "steel_file_unreadable"
	SteelSessionGone       Code = "steel_session_gone"
	SteelSessionExpired    Code = "steel_session_expired"
	SteelNotAuthenticated  Code = "steel_not_authenticated"
	SteelWipeIncomplete    Code = "steel_wipe_incomplete"
	SteelTargetNotFound    Code = "steel_target_not_found"
	SteelTargetAmbiguous   Code = "steel_target_ambiguous"
	SteelTargetHidden      Code = "steel_target_hidden"
	SteelTargetCovered     Code = "steel_target_covered"
	SteelTargetDisabled    Code = "steel_target_disabled"
	SteelTargetReadOnly    Code = "steel_target_not_editable"
	SteelTargetKind        Code = "steel_target_kind"
	SteelOptionNotFound    Code = "steel_option_not_found"
	SteelValueDiffers      Code = "steel_value_differs"
	SteelRefUnknown        Code = "steel_ref_unknown"
	SteelRefStale          Code = "steel_ref_stale"
	SteelTabLost           Code = "steel_tab_lost"
	SteelTabNotFound       Code = "steel_tab_not_found"
	SteelNoHistory         Code = "steel_no_history"
	SteelWaitUnmet         Code = "steel_wait_unmet"
	SteelEvalThrew         Code = "steel_eval_threw"
	SteelHTTPStatus        Code = "steel_http_status"
	SteelTooLarge          Code = "steel_too_large"
	SteelUnsupported       Code = "steel_unsupported"
	SteelNoBrowser         Code = "steel_no_browser"
	SteelHostRejected      Code = "steel_host_rejected"
	SteelConnectionLost    Code = "steel_connection_lost"
	SteelBrowserRestarted  Code = "steel_browser_restarted"
	SteelTabStuck          Code = "steel_tab_stuck"
	SteelTabCrashed        Code = "steel_tab_crashed"
	SteelRecoverFailed     Code = "steel_recover_failed"
	SteelNavigationTimeout Code = "steel_navigation_timeout"
	SteelTimeout           Code = "steel_timeout"
	SteelBadContext        Code = "steel_bad_context"
	SteelTakeoverPending   Code = "steel_takeover_pending"
)

// Info is what a code means to a caller.
type Info struct {
	Exit    int
	Meaning string // one sentence, lower case, no full stop
}

var infos = map[Code]Info{
	Usage:                 {ExitUsage, "a flag or an argument is missing, unknown or out of its range"},
	ConfigInvalid:         {ExitUsage, "a configuration file does not parse or holds a value of the wrong type"},
	ConfigKeyUnknown:      {ExitUsage, "a configuration file holds a key that no tool reads"},
	ConfigKeyNotAllowed:   {ExitUsage, "a repository's configuration sets what only the user's may"},
	ProjectNotConfigured:  {ExitUsage, "records are here, but no project name: not in a flag, KXM_PROJECT or .kxm/config.toml"},
	ActorUnknown:          {ExitUsage, "nobody is named as the actor"},
	NotARepository:        {ExitUsage, "the command needs a Git repository"},
	IOFailed:              {ExitFailed, "a file or stream could not be read or written"},
	GitFailed:             {ExitFailed, "the git program answered with an error"},
	GitUnavailable:        {ExitFailed, "the git program is missing, too old or did not answer in time"},
	RepositoryUnsupported: {ExitFailed, "the repository uses a format that neither backend reads"},
	RepositoryNotOwned:    {ExitFailed, "the repository belongs to another user and is not in safe.directory"},
	ObjectMissing:         {ExitFailed, "an object is not in the repository"},
	ObjectCorrupt:         {ExitFailed, "an object does not match its name or does not decode"},
	ObjectTooLarge:        {ExitFailed, "an object is larger than what is read into memory"},
	RefBroken:             {ExitFailed, "a ref exists but holds neither an object id nor the name of another ref"},
	RevisionNotFound:      {ExitNo, "the revision names no commit"},

	InvalidJSON:               {ExitBadInput, "the input is not JSON as it must be: syntax, UTF-8, a duplicate key, too large or too deep"},
	InvalidContextItem:        {ExitBadInput, "a context item has the wrong shape, or two items share an id"},
	InvalidContextField:       {ExitBadInput, "a field of a context item holds a value it may not"},
	ContextLimitsExceeded:     {ExitBadInput, "a list of a context item or packet is longer than its limit"},
	ProtocolError:             {ExitBadInput, "a text is no string, empty or too long"},
	ContextAuthorityViolation: {ExitNo, "an item claims more than its origin allows, or a record carries a control-plane field"},
	ContextIsolationViolation: {ExitNo, "an item belongs to another project than the request"},
	SecretFound:               {ExitNo, "a text holds a secret; the rule and the place are named, never the value"},
	RedactionUnavailable:      {ExitFailed, "the secret detector could not load"},
	PathEscapes:               {ExitBadInput, "a symbolic link leads out of its folder"},
	TreeRefused:               {ExitBadInput, "a folder holds what its digest cannot cover: a device, a socket, a pipe, or a name that is not UTF-8"},
	FileChanged:               {ExitRetry, "a file was changed by someone else in the meantime; nothing was written"},
	InvalidFrontMatter:        {ExitBadInput, "front matter is missing or does not parse"},

	InvalidMemoryFile:  {ExitBadInput, "a memory file is not what kxm.memory.v1 says"},
	MemoryUnreadable:   {ExitBadInput, "at least one memory file could not be read"},
	MemoryDuplicate:    {ExitBadInput, "two memory files share an id"},
	MemoryNotFound:     {ExitNo, "no record has that id"},
	MemoryIDTaken:      {ExitNo, "a record with that id exists"},
	MemoryCheckFailed:  {ExitNo, "the check has findings of severity error"},
	MemoryBlockStale:   {ExitNo, "an instruction file's memory block is not what sync would write"},
	MemorySyncFailed:   {ExitNo, "no instruction file exists, or one has malformed markers; none was written"},
	MergeConflict:      {ExitNo, "text outside the memory block conflicts"},
	SetupIncomplete:    {ExitNo, "something that the tools need is not set up"},
	HookNotOurs:        {ExitNo, "the hook was not installed by this tool or was edited since"},
	CandidateAmbiguous: {ExitNo, "more than one candidate begins with that id"},

	SkillNotFound:              {ExitNo, "no skill has that id"},
	SkillIntegrityViolation:    {ExitNo, "a skill's files do not match the digest that its metadata names"},
	SkillPromotionInvalid:      {ExitNo, "the skill may not be promoted: by its author, without evidence, or from where it is"},
	SkillEvaluationsIncomplete: {ExitNo, "an evaluation that promotion needs is missing or did not pass"},
	SkillSourcesRequired:       {ExitNo, "a skill candidate needs a run, a journal entry or a receipt that it comes from"},
	InvalidSkillFrontmatter:    {ExitBadInput, "SKILL.md has no front matter with a name and a description"},
	InvalidSkillName:           {ExitBadInput, "the skill's name breaks the Agent Skills rules"},
	InvalidSkillMetadata:       {ExitBadInput, "a skill's metadata.json is not what its schema says"},
	SkillCandidateExists:       {ExitNo, "the same skill exists already"},
	SkillsBusy:                 {ExitRetry, "another program is changing the skills; nothing was written"},

	StatePromotionInvalid:      {ExitNo, "the proposal may not be promoted by its author"},
	StateProposerMismatch:      {ExitNo, "the proposer that is named is not the caller, or only its author may withdraw a proposal"},
	StateProposalNotFound:      {ExitNo, "no proposal has that id"},
	StateProposalNotPromotable: {ExitNo, "the proposal was promoted, rejected or withdrawn, or does not count"},
	StateContradiction:         {ExitNo, "the key has more than one current value"},
	StateKeyNotFound:           {ExitNo, "the key has no events"},
	StateEventNotFound:         {ExitNo, "no event has that id, or it is of another type than the command needs"},
	StateEventFuture:           {ExitNo, "the event that is named lies more than a day ahead of the clock and nobody trusted signed it"},
	StatePersonRequired:        {ExitNo, "the command needs a person's signature, and KXM_UNATTENDED says that no person is there"},
	InvalidAuth:                {ExitNo, "no allowed signer fits: the key, the namespace, the time or the signature"},
	InvalidStateEvent:          {ExitBadInput, "a state event has the wrong shape, breaks a limit or names a time that it may not"},
	AdminAuthNotConfigured:     {ExitUsage, "the trust point has no allowed signer"},
	StateTrustUnresolved:       {ExitUsage, "there is no trust point, so that no signature counts"},
	SigningKeyMissing:          {ExitUsage, "no signing key is configured"},
	SigningKeyEncrypted:        {ExitUsage, "the signing key has a passphrase and no agent holds it"},
	SigningKeyInvalid:          {ExitUsage, "the signing key is malformed, of an unknown type, too short, or open to other users"},
	SigningFailed:              {ExitFailed, "the key or its agent did not sign"},
	StateVerifyFailed:          {ExitNo, "an event does not count for what it claims"},
	StateFormatUnknown:         {ExitFailed, "the trust point asks for a newer store format than this program writes"},
	StateRefBroken:             {ExitFailed, "the state ref cannot be read"},
	StateQuarantine:            {ExitFailed, "nothing can be written while Git checks a push"},
	StateConflict:              {ExitRetry, "the key has changed in the meantime; nothing was written"},
	StateBusy:                  {ExitRetry, "another program is writing events; nothing was written"},
	StateSyncRejected:          {ExitRetry, "the remote kept moving; the events stay here and can be sent again"},

	WikiPoolUnavailable: {ExitNo, "the stream says that its pool is missing, or holds no item while there are pages"},
	WikiPageNotOurs:     {ExitNo, "a file at a page's path was not generated; nothing was written"},
	WikiPageEdited:      {ExitNo, "a hand changed a generated page; nothing was written"},
	WikiStale:           {ExitNo, "the pages are not what would be compiled"},
	WikiLintFailed:      {ExitNo, "the pages have findings of severity error, or with --strict any"},
	WikiChanged:         {ExitNo, "something changed, and --exit-code was given"},

	ItemNotFound:   {ExitNo, "the pool holds no item with that id"},
	NoMatch:        {ExitNo, "nothing matched, and -e was given"},
	InvalidPacket:  {ExitBadInput, "a packet lacks a field, breaks a limit or holds a value that is not allowed"},
	InvalidStep:    {ExitBadInput, "a step lacks a field, breaks a limit or holds a value that is not allowed"},
	InvalidHandoff: {ExitBadInput, "a handoff manifest lacks a field, breaks a limit or holds a value that is not allowed"},

	PluginDescriptorInvalid: {ExitBadInput, "a plugin descriptor is not what kxm.plugin-descriptor.v1 says, or takes what another one owns"},
	CapabilityInvalid:       {ExitBadInput, "a capability set is not what kxm.capability-set.v1 says, or has a key that nobody knows"},

	PromptInputInvalid:           {ExitBadInput, "an input of the prompt compiler has the wrong shape, or a field holds a value that it may not"},
	PromptSectionDuplicate:       {ExitBadInput, "two sections share an id"},
	PromptSectionReserved:        {ExitBadInput, "an application's section has an id of the compiler's own"},
	PromptBudgetInvalid:          {ExitBadInput, "a section's budget is out of its range"},
	PromptVariantSectionTooLarge: {ExitBadInput, "a variant's section is longer than a variant may hold"},
	PromptCapabilitiesInvalid:    {ExitBadInput, "the frozen capability set is missing or does not parse"},
	PromptHistoryInvalid:         {ExitBadInput, "a line of a history is not JSON, or the leaf is not in it"},
	PromptUnattributed:           {ExitNo, "a section, group or tool has no owner, and --check was given"},
	PromptPrefixChanged:          {ExitNo, "the system prompt is another one than was expected"},
	PromptPrefixShort:            {ExitNo, "two requests share less of their beginning than --min"},
	PromptNoSnapshot:             {ExitNo, "the branch of the history holds no snapshot that still counts"},
	PromptNoCheckpoint:           {ExitNo, "there is nothing that a checkpoint would have to keep"},
	PromptNotRecorded:            {ExitNo, "no pack is recorded beside the run"},
	PromptRecordFailed:           {ExitFailed, "the pack could not be recorded beside the run"},
	PromptTextUnknown:            {ExitNo, "no fixed text has that id"},

	SteelUsage:             {ExitUsage, "a name is taken by an open session or is no name, or a session is recorded already"},
	SteelNoEndpoint:        {ExitUsage, "no Steel server is named; no request was made anywhere"},
	SteelBadEndpoint:       {ExitUsage, "an address is not http or https with a host, or has user info, a query or a fragment"},
	SteelInsecureEndpoint:  {ExitUsage, "an address is clear text and not of this computer"},
	SteelNoKey:             {ExitUsage, "the cloud needs an API key and none is configured"},
	SteelBadKey:            {ExitUsage, "the API key is not 8 to 4096 printable ASCII characters"},
	SteelUnauthorized:      {ExitUsage, "the server refused the key, or wants one"},
	SteelTimeoutRange:      {ExitUsage, "a session's timeout is shorter than 10 s or longer than the largest one"},
	SteelSessionAmbiguous:  {ExitUsage, "several sessions are open and none is named"},
	SteelURLRefused:        {ExitUsage, "only http, https and about:blank are navigated to"},
	SteelStateUnsafe:       {ExitUsage, "a file or folder of the state is open to others, belongs to another user or is a symbolic link"},
	SteelSessionNotFound:   {ExitNo, "no such session is recorded or live"},
	SteelHumanInControl:    {ExitNo, "a person holds the session"},
	SteelTakeoverInvalid:   {ExitNo, "the state of the session does not allow the verb"},
	SteelOrphansFound:      {ExitNo, "sessions remain that nobody looks after"},
	SteelScrapeLive:        {ExitNo, "a session is live, and the call would navigate its page away"},
	SteelDoctorFailed:      {ExitNo, "a check failed"},
	SteelUnreachable:       {ExitFailed, "the server could not be reached, or did not answer in time"},
	SteelNotSteel:          {ExitFailed, "what answered is no Steel server"},
	SteelRedirected:        {ExitFailed, "the server redirects, and a key is not carried elsewhere"},
	SteelServerError:       {ExitFailed, "the server answered with an error"},
	SteelKeyCommandFailed:  {ExitFailed, "the key command failed, hung or did not print one line"},
	SteelCreateFailed:      {ExitFailed, "the server did not create the session"},
	SteelIDMismatch:        {ExitFailed, "the server answered with another session than was asked for, which was not touched"},
	SteelReleaseFailed:     {ExitFailed, "the release could not be confirmed; the record was kept"},
	SteelNavigationFailed:  {ExitFailed, "the page could not be loaded"},
	SteelBadResponse:       {ExitBadInput, "the server's answer to a call is not what it should be"},
	SteelStateCorrupt:      {ExitBadInput, "a file of the state does not parse"},
	SteelEndpointBusy:      {ExitRetry, "another program is changing the server's sessions"},
	SteelEndpointInUse:     {ExitRetry, "the server has one browser, and another session is live in it"},
	SteelSessionBusy:       {ExitRetry, "another program is using the session"},
	SteelRateLimited:       {ExitRetry, "the server takes no more requests for now"},
	SteelServerBusy:        {ExitRetry, "the server is not available for now: status 502, 503 or 504"},
	SteelSecretInArgv:      {ExitUsage, "a password-like field is filled from an argument, which other programs can see"},
	SteelFileUnreadable:    {ExitUsage, "a file that is to be sent to the page cannot be read"},
	SteelSessionGone:       {ExitNo, "the session is over, or the server has another one in its place"},
	SteelSessionExpired:    {ExitNo, "the session's deadline has passed"},
	SteelNotAuthenticated:  {ExitNo, "a condition that shows the person's work done does not hold"},
	SteelWipeIncomplete:    {ExitNo, "cookies, storage or tabs of the session could not all be removed"},
	SteelTargetNotFound:    {ExitNo, "nothing on the page matches the target"},
	SteelTargetAmbiguous:   {ExitNo, "several elements match the target"},
	SteelTargetHidden:      {ExitNo, "the target is not visible"},
	SteelTargetCovered:     {ExitNo, "something else lies over the target"},
	SteelTargetDisabled:    {ExitNo, "the target is disabled"},
	SteelTargetReadOnly:    {ExitNo, "the target takes no text"},
	SteelTargetKind:        {ExitNo, "the target is of another kind than the verb is for"},
	SteelOptionNotFound:    {ExitNo, "the list has no such option"},
	SteelValueDiffers:      {ExitNo, "the field holds another value than was put in"},
	SteelRefUnknown:        {ExitNo, "no such reference was given out, or it was dropped"},
	SteelRefStale:          {ExitNo, "the page changed since the snapshot"},
	SteelTabLost:           {ExitNo, "the recorded tab is not in the browser any more"},
	SteelTabNotFound:       {ExitNo, "the session has no such tab"},
	SteelNoHistory:         {ExitNo, "the tab has no page to go back to"},
	SteelWaitUnmet:         {ExitNo, "a condition did not come true in time"},
	SteelEvalThrew:         {ExitNo, "the script threw"},
	SteelHTTPStatus:        {ExitNo, "the page or file was answered with a status of 400 or above"},
	SteelTooLarge:          {ExitNo, "what was asked for is larger than its limit; nothing was written"},
	SteelUnsupported:       {ExitNo, "the server or its browser cannot do this"},
	SteelNoBrowser:         {ExitFailed, "the server runs and its browser does not"},
	SteelHostRejected:      {ExitFailed, "the browser refused the Host header that the proxy before it forwards"},
	SteelConnectionLost:    {ExitFailed, "the connection to the browser was lost in the middle of the command"},
	SteelBrowserRestarted:  {ExitFailed, "the server's browser was started anew: tabs, and probably the signed-in state, are gone"},
	SteelTabStuck:          {ExitFailed, "a dialog or an endless script blocks the tab"},
	SteelTabCrashed:        {ExitFailed, "the tab's renderer crashed"},
	SteelRecoverFailed:     {ExitFailed, "no tab of the session could be made to work"},
	SteelNavigationTimeout: {ExitFailed, "the page was not there in time; loading was stopped"},
	SteelTimeout:           {ExitFailed, "the command did not come to its end in time"},
	SteelBadContext:        {ExitBadInput, "a context file does not parse"},
	SteelTakeoverPending:   {ExitRetry, "a person still holds the session"},

	LockHeld:    {ExitRetry, "another program holds a lock"},
	RefMoved:    {ExitRetry, "a ref is not at the value that it was to be changed from"},
	RefLocked:   {ExitRetry, "another program is changing the ref, or left its lock behind"},
	RefConflict: {ExitFailed, "a ref cannot be made because its name is a folder of another ref, or lies below one"},
}

// Exit returns the exit status of the code; an unknown code is ExitFailed.
func (c Code) Exit() int {
	if i, ok := infos[c]; ok {
		return i.Exit
	}
	return ExitFailed
}

// Meaning returns the code's sentence.
func (c Code) Meaning() string { return infos[c].Meaning }

// Codes returns every code, sorted.
func Codes() []Code {
	all := make([]Code, 0, len(infos))
	for c := range infos {
		all = append(all, c)
	}
	slices.Sort(all)
	return all
}
