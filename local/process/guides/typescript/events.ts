// Generated from the OpenAPI document: go test ./local/process/guides -run TestTypes -update

interface Envelope<Type extends string, Data> {
  /** The event's id, which is also the webhook-id; a repeat has the same id. */
  id: string;
  type: Type;
  /** When the change was committed (RFC 3339); when a sample was sent. */
  timestamp: string;
  companyId: string;
  data: Data;
}

export type OrgopsEvent =
  | Envelope<"approval.decided", ApprovalEventData>
  | Envelope<"approval.expiring", ApprovalEventData>
  | Envelope<"approval.requested", ApprovalEventData>
  | Envelope<"audit.recorded", AuditEventData>
  | Envelope<"delivery.dead", DeadLetterEventData>
  | Envelope<"endpoint.disabled", EndpointEventData>
  | Envelope<"endpoint.paused", EndpointEventData>
  | Envelope<"endpoint.recovered", EndpointEventData>
  | Envelope<"executive.acted", ActionEventData>
  | Envelope<"goal.alignment.changed", GoalEventData>
  | Envelope<"goal.updated", GoalEventData>
  | Envelope<"integration.certified", IntegrationEventData>
  | Envelope<"integration.expiring", IntegrationEventData>
  | Envelope<"integration.sandboxed", IntegrationEventData>
  | Envelope<"integration.sync.completed", SyncEventData>
  | Envelope<"memory.created", MemoryEventData>
  | Envelope<"memory.synced", SyncEventData>
  | Envelope<"memory.updated", MemoryEventData>
  | Envelope<"orgops.sample", SampleEventData>
  | Envelope<"recommendation.closed", AdviceEventData>
  | Envelope<"recommendation.opened", AdviceEventData>
  | Envelope<"sync.failed", SyncEventData>
  | Envelope<"timeline.entry.created", TimelineEventData>
  | Envelope<"user.joined", UserEventData>
  | Envelope<"user.left", UserEventData>;

/** The action with the decision and the effect. */
export interface ActionEventData {
  /** what it asked for */
  action?: ExecutiveAction;
  /** the approval that it needs; absent if it needs none */
  approvalId?: string;
  /** when it was asked for */
  at?: string;
  /** the client that asked as the executive; absent if the token of a user did, to try the executive */
  clientId?: string;
  /** the policy engine's verdict; after an approval, that of the policies at that time */
  decision?: Decision;
  /** what the action changed or, if it is proposed or pending, would change; absent if the verdict is denied */
  effect?: Effect;
  /** when the approval was given, was rejected or expired; absent for an action that never was pending */
  endedAt?: string;
  /** the executive that asked */
  executive?: Reference;
  /** until when its approval can be decided; absent for an action that never was pending */
  expiresAt?: string;
  /** UUIDv7 */
  id?: string;
  /** the input of the action, as it was given */
  input?: unknown;
  /** The fields that were left out to keep the event below 20 kB; the API has them */
  omitted?: Array<string>;
  /** For an update, the former values of the changed fields; null for a field that was absent */
  previous?: Record<string, unknown>;
  /** the user whose token asked, or for whom the executive asked; absent if the executive asked by itself */
  requestedBy?: string;
  /** proposed: tried in the sandbox, without an effect; pending: waits for an approval; done: took effect; denied: the policies did not permit it; rejected: a user rejected its approval; expired: no user decided about its approval within 24 hours; withdrawn: the user who asked took it back, or lost the right to ask */
  state?: ExecutiveActionState;
}

/** The recommendation as it opened or closed. */
export interface AdviceEventData {
  /** when it was noticed that it is open or closed */
  at?: string;
  /** since when its condition holds, or held */
  firstSeenAt?: string;
  /** the recommendation's id */
  id?: string;
  /** The fields that were left out to keep the event below 20 kB; the API has them */
  omitted?: Array<string>;
  /** For an update, the former values of the changed fields; null for a field that was absent */
  previous?: Record<string, unknown>;
  /** how soon; P1 first */
  priority?: Priority;
  /** the finding, and what the advised step changes */
  rationale?: string;
  /** how often it came back after it had succeeded */
  reopened?: number;
  /** the rule that raised it */
  rule?: string;
  /** active and claimed are open; succeeded: its condition has ended; dismissed by a user; failed: a claim has not ended the condition in time */
  state?: RecommendationState;
  /** what it is about */
  subject?: Reference;
  /** what to do */
  title?: string;
}

/** The approval after the change. */
export interface ApprovalEventData {
  /** the action that would be carried out */
  action?: string;
  /** the executive's action that waits for it; absent for an integration */
  actionId?: string;
  /** how it ended; absent while it is pending */
  answer?: Answer;
  /** the policy engine's decision that asked for the approval */
  decisionId?: string;
  /** SHA-256 over the canonical JSON (RFC 8785) of the company, the principal, the action, the resource and the payload, base64url */
  digest?: string;
  /** until when it can be decided, 24 hours later */
  expiresAt?: string;
  /** UUIDv7 */
  id?: string;
  /** The fields that were left out to keep the event below 20 kB; the API has them */
  omitted?: Array<string>;
  /** the exact action; its members depend on the action */
  payload?: unknown;
  /** the policies that ask for the approval */
  policies?: Array<string>;
  /** For an update, the former values of the changed fields; null for a field that was absent */
  previous?: Record<string, unknown>;
  /** who asks for the action */
  principal?: Reference;
  /** the name of the executive, or of the user who asks; absent for a user without a name, and for an integration, whose id is its name */
  principalName?: string;
  /** why they ask for it */
  reasons?: Array<string>;
  /** when the action was asked for */
  requestedAt?: string;
  /** who caused the request, and so may not decide it: the principal or the user behind it */
  requestedBy?: Reference;
  /** what the action is about */
  resource?: Reference;
  /** pending: waits for a decision; expired: was not decided within 24 hours; withdrawn: the one who asked took it back, or lost the right to ask */
  state?: ApprovalState;
  /** the title of what the action would store */
  title?: string;
  /** since when it counts as about to expire, 6 hours before it does; absent before */
  warnedAt?: string;
}

/** The record in the form of OCSF's class API Activity. */
export interface AuditEventData {
  /** 1: create, 2: read, 3: update, 4: delete, 99: other, see activity_name */
  activity_id?: number;
  /** the first word of the operation's id */
  activity_name?: string;
  /** who asked */
  actor?: AuditActor;
  /** what was asked for */
  api?: AuditCall;
  /** 6: Application Activity */
  category_uid?: number;
  /** 6003: API Activity */
  class_uid?: number;
  /** where the record comes from */
  metadata?: AuditMetadata;
  /** The fields that were left out to keep the event below 20 kB; the API has them */
  omitted?: Array<string>;
  /** For an update, the former values of the changed fields; null for a field that was absent */
  previous?: Record<string, unknown>;
  /** what the operation was on */
  resources?: Array<AuditResource>;
  /** 1: informational; 2: low, for what did not succeed */
  severity_id?: number;
  /** where the request came from */
  src_endpoint?: AuditSource;
  /** the HTTP status of a request that did not succeed */
  status_code?: string;
  /** denied: the rights or the credentials did not allow it; failure: it was refused for another reason, or failed */
  status_detail?: AuditOutcome;
  /** 1: success; 2: failure */
  status_id?: number;
  /** when the effect was committed, or the request ended, in milliseconds since 1970 */
  time?: number;
  /** class_uid × 100 + activity_id */
  type_uid?: number;
  /** what OCSF has no field for */
  unmapped?: AuditUnmapped;
}

/** The delivery, without its payload. */
export interface DeadLetterEventData {
  /** how many attempts have failed since the schedule began */
  attempts?: number;
  /** the id of the event that did not arrive; with the provider it names the delivery */
  deliveryId?: string;
  /** the name of the event that did not arrive */
  event?: string;
  /** when that event happened */
  eventAt?: string;
  /** when the last attempt was made */
  lastAttemptAt?: string;
  /** why the last attempt failed */
  lastError?: string;
  /** the HTTP status of the last attempt; absent without an answer */
  lastStatus?: number;
  /** The fields that were left out to keep the event below 20 kB; the API has them */
  omitted?: Array<string>;
  /** For an update, the former values of the changed fields; null for a field that was absent */
  previous?: Record<string, unknown>;
  /** the endpoint */
  provider?: string;
}

/** The endpoint's state. */
export interface EndpointEventData {
  /** of an active one, what it was before */
  before?: "paused" | "disabled";
  /** The fields that were left out to keep the event below 20 kB; the API has them */
  omitted?: Array<string>;
  /** For an update, the former values of the changed fields; null for a field that was absent */
  previous?: Record<string, unknown>;
  /** the endpoint */
  provider?: string;
  /** why it was paused or disabled; of an active one, why it was before */
  reason?: DisableReason;
  /** since when it is so, or was before */
  since?: string;
  /** paused: it gets no attempts for a while, and then one decides; disabled: it gets no events; active: it gets events again */
  state?: EndpointState;
  /** of a paused one, when the next attempt may be made */
  until?: string;
}

/** The goal after the change. */
export interface GoalEventData {
  /** whether it will be reached in time */
  alignment?: Alignment;
  /** also the start of the pace that alignment expects */
  createdAt?: string;
  /** when the goal is due */
  dueAt?: string;
  /** id of the goal at the provider */
  externalId?: string;
  /** UUIDv8 that follows from provider, incarnation and externalId; of the company's own goals a UUIDv7 */
  id?: string;
  /** the integration's incarnation; the goals of a deleted integration are kept for reading, and the next one of its name has its own */
  incarnation?: string;
  /** the number that the goal is measured by */
  measure?: Measure;
  /** The fields that were left out to keep the event below 20 kB; the API has them */
  omitted?: Array<string>;
  /** For an update, the former values of the changed fields; null for a field that was absent */
  previous?: Record<string, unknown>;
  /** share of the goal that is done; with a measure, the share of the way from its start to its target */
  progress?: number;
  /** the integration that imported the goal; company: the company made it itself */
  provider?: string;
  /** when it last changed at the provider, if the provider says so; an older state changes nothing */
  sourceUpdatedAt?: string;
  /** why the work on it does not go on, from the memories that refer to it; absent if it does, or if none refers to it */
  stalled?: GoalStall;
  /** open until the provider, or the company, closes it */
  state?: GoalState;
  /** the result that reaches the goal, in words */
  target?: string;
  /** title of the goal */
  title?: string;
  /** when it last changed */
  updatedAt?: string;
  /** web page of the goal at the provider */
  url?: string;
}

/** The integration's certification. */
export interface IntegrationEventData {
  /** why it is back in the sandbox */
  cause?: SandboxReason;
  /** when the certification ends, or the credentials that are about to expire */
  expiresAt?: string;
  /** what is about to expire */
  expiring?: ExpiringTerm;
  /** its connector */
  kind?: string;
  /** The fields that were left out to keep the event below 20 kB; the API has them */
  omitted?: Array<string>;
  /** the ports that the certification has opened */
  ports?: Array<string>;
  /** For an update, the former values of the changed fields; null for a field that was absent */
  previous?: Record<string, unknown>;
  /** the integration */
  provider?: string;
  /** certified: it acts in production; sandbox: what goes in or out has no effect, and its events are held */
  state?: IntegrationState;
}

/** The memory after the change. */
export interface MemoryEventData {
  /** at most 64 kB; longer text is cut at a character */
  body?: string;
  /** SHA-256 over kind, title, body and url, and over goal and work if there is a goal, base64url */
  contentHash?: string;
  /** when it was imported */
  createdAt?: string;
  /** id of the thing at the provider */
  externalId?: string;
  /** the goal that the thing is work on */
  goalId?: string;
  /** UUIDv8 that follows from provider, incarnation and externalId */
  id?: string;
  /** the integration's incarnation; the memories of a deleted integration are kept for reading, and the next one of its name has its own */
  incarnation?: string;
  /** kind of the thing at the provider */
  kind?: string;
  /** The fields that were left out to keep the event below 20 kB; the API has them */
  omitted?: Array<string>;
  /** For an update, the former values of the changed fields; null for a field that was absent */
  previous?: Record<string, unknown>;
  /** the integration that imported the memory */
  provider?: string;
  /** when it last changed at the provider, if the provider says so; an older state changes nothing */
  sourceUpdatedAt?: string;
  /** title of the thing */
  title?: string;
  /** when it last changed */
  updatedAt?: string;
  /** web page of the thing at the provider */
  url?: string;
  /** how far the work is; absent without a goal */
  work?: Work;
}

/** What the sample was sent for. */
export interface SampleEventData {
  /** says that nothing happened */
  message: string;
  /** the integration whose endpoint is tested or certified */
  provider: string;
}

/** The sync that has ended. */
export interface SyncEventData {
  /** why the run failed, or what it waits for */
  error?: string;
  /** when the run ended */
  finishedAt?: string;
  /** whether the run fetches every item, or only the items that changed since the last run */
  full?: boolean;
  /** UUIDv7 */
  id?: string;
  /** live once the integration is certified */
  mode?: SyncMode;
  /** The fields that were left out to keep the event below 20 kB; the API has them */
  omitted?: Array<string>;
  /** in the sandbox only: the first 20 items that a live run would write */
  preview?: Array<Preview>;
  /** For an update, the former values of the changed fields; null for a field that was absent */
  previous?: Record<string, unknown>;
  /** what the run has done so far */
  progress?: Progress;
  /** the integration whose items the run fetches */
  provider?: string;
  /** set if the run would remove so much that it has to ask */
  removal?: Removal;
  /** when the run was requested */
  requestedAt?: string;
  /** the user who requested the run */
  requestedBy?: string;
  /** why items were left out, at most 10 reasons; progress.failed counts all of them */
  skipped?: Array<Skipped>;
  /** when a worker started the run */
  startedAt?: string;
  /** how far the run is */
  state?: SyncState;
  /** the provider asked the service to wait until this time */
  throttledUntil?: string;
  /** what the source does wrong, or may not mean, although the run went on */
  warnings?: Array<string>;
}

/** The new entry. */
export interface TimelineEventData {
  /** the user, the integration or the part of the system that acted */
  actor?: Reference;
  /** when it happened */
  at?: string;
  /** further facts; the members of the object depend on the kind */
  details?: unknown;
  /** the event that told subscribers about the same change */
  eventId?: string;
  /** UUIDv7 */
  id?: string;
  /** what happened */
  kind?: TimelineKind;
  /** The fields that were left out to keep the event below 20 kB; the API has them */
  omitted?: Array<string>;
  /** the user for whom the executive acted; absent if the actor acted by itself */
  onBehalfOf?: Reference;
  /** For an update, the former values of the changed fields; null for a field that was absent */
  previous?: Record<string, unknown>;
  /** the resource that the entry is about */
  subject?: Reference;
  /** what happened, in words */
  title?: string;
}

/** The user after the change, or before the removal. */
export interface UserEventData {
  /** when the user was added or invited */
  createdAt?: string;
  /** the address that the user logs in with */
  email?: string;
  /** UUIDv7 */
  id?: string;
  /** set for a user who signs in through the company's identity provider and has no password: a digest of the issuer and its name for the user */
  identity?: string;
  /** when the invitation expires, and the user with it; absent once it is accepted */
  invitedUntil?: string;
  /** when a mail to the address was refused for good, came back or was reported as unwanted; no more mails go to it, until resumeMails, except the code of a password reset */
  mailRefusedAt?: string;
  /** why no more mails go to the address; refused: its mail host knows no such mailbox; bounced: a mail came back for good; complained: its reader reported a mail as unwanted */
  mailRefusedWith?: MailRefusal;
  /** the user's name */
  name?: string;
  /** The fields that were left out to keep the event below 20 kB; the API has them */
  omitted?: Array<string>;
  /** For an update, the former values of the changed fields; null for a field that was absent */
  previous?: Record<string, unknown>;
  /** the only integration that a user with the role integration reaches */
  provider?: string;
  /** decides the scopes of the user's tokens */
  role?: Role;
  /** since when the user has had this role and this state: the user decides only on approvals that were asked for later; absent: since createdAt */
  since?: string;
  /** invited: has not accepted the invitation yet; disabled: cannot log in */
  state?: UserState;
}

/** Whether a goal will be reached in time, and why. */
export interface Alignment {
  /** when the status last changed; until a day later it changes again only if the goal is closed */
  changedAt?: string;
  /** why the goal has this status, in words */
  reasons: Array<string>;
  /** progress divided by the share of the time that has passed, at most 1; a day, or a twentieth of the time if that is longer, does not count; at most 0.7 if the work is stalled */
  score: number;
  /** whether the pace is enough: aligned from a score of 0.8, drifting from 0.5, otherwise misaligned; an overdue goal is misaligned, and a goal whose work is stalled is drifting at best */
  status: AlignmentStatus;
}

/** How an approval ended, and what became of the action. */
export interface Answer {
  /** when it ended */
  at: string;
  /** the user who decided or took it back, or the system if it expired or ended with the rights of the one who asked */
  by: Reference;
  /** the policy engine's decision under the policies at that time */
  decisionId?: string;
  /** what the action changed */
  outcome?: "created" | "updated" | "unchanged" | "refused";
  /** its verdict; the action was carried out only if it is permitted */
  verdict?: Verdict;
}

export type ApprovalState = "pending" | "approved" | "rejected" | "expired" | "withdrawn";

/** Who made a request, as OCSF's actor. */
export interface AuditActor {
  /** the executive that acted, or the client whose token was used; absent for a user's own token */
  app_uid?: string;
  /** the access token */
  session?: AuditSession;
  /** the user, or the operator of the service */
  user?: AuditUser;
}

/** What a request asked for, as OCSF's api. */
export interface AuditCall {
  /** the id of the operation in this document, or a command of the service's operator */
  operation: string;
  /** identifies the request */
  request: AuditRequest;
}

/** Where an audit record comes from, as OCSF's metadata. */
export interface AuditMetadata {
  /** what wrote the record */
  product: AuditProduct;
  /** the company's id */
  tenant_uid: string;
  /** the record's id */
  uid: string;
  /** the version of OCSF */
  version: string;
}

export type AuditOutcome = "success" | "failure" | "denied";

/** What an operation was on, as OCSF's resource_details. */
export interface AuditResource {
  /** a path below the company's */
  uid: string;
}

/** Where a request came from, as OCSF's network_endpoint. */
export interface AuditSource {
  /** the network, an IPv4 /24 or an IPv6 /48; local for a command of the service's operator */
  name: string;
}

/** The fields of an audit record that OCSF has no field for. */
export interface AuditUnmapped {
  /** the client whose token was used, if an executive acted with it */
  clientId?: string;
  /** how many more requests of the user did not succeed and have no record */
  omitted?: number;
  /** the user's role at the time */
  role?: string;
}

/** A verdict of the policy engine on an action, with the policies that decided. */
export interface Decision {
  /** what was asked */
  action: string;
  /** SHA-256 over the canonical JSON of an action that needs approval, base64url */
  actionDigest?: string;
  /** when the engine decided */
  at: string;
  /** true in the sandbox and in a preview: the service did not perform the action, even if permitted */
  dryRun?: boolean;
  /** UUIDv7 */
  id: string;
  /** the user for whom the executive asked; absent if the principal asked by itself */
  onBehalfOf?: Reference;
  /** the policies that decided; none if no policy permits the action */
  policies: Array<string>;
  /** SHA-256 over the policies that were in force, base64url */
  policySet?: string;
  /** who asked, such as an integration */
  principal: Reference;
  /** why, from the policies that decided */
  reasons: Array<string>;
  /** what the action would change */
  resource: Reference;
  /** the verdict if the policies that are log-only were enforced; absent if it is the same */
  shadow?: Shadow;
  /** whether the action may happen */
  verdict: Verdict;
}

export type DisableReason = "manual" | "gone" | "failing" | "imported";

/** What an executive's action changes. */
export interface Effect {
  /** the resource that the action creates or changes; its id is empty if the resource would be created */
  subject: Reference;
  /** the effect in words */
  summary: string;
}

export type EndpointState = "paused" | "disabled" | "active";

export type ExecutiveAction = "memory.sync" | "recommendation.claim" | "recommendation.dismiss" | "integration.disable" | "timeline.note" | "goal.note" | "deliveries.recover";

export type ExecutiveActionState = "proposed" | "pending" | "done" | "denied" | "rejected" | "expired" | "withdrawn";

export type ExpiringTerm = "certification" | "credentials";

export type GoalStall = "blocked" | "stale";

export type GoalState = "open" | "closed";

export type IntegrationState = "sandbox" | "certified";

export type MailRefusal = "refused" | "bounced" | "complained";

/** The number that a goal is measured by. */
export interface Measure {
  /** the newest value; absent in a request: start; with a source the syncs set it, and it is absent until the first one */
  current?: string;
  /** up: the number must grow to the target; down: it must fall to it */
  direction: MeasureDirection;
  /** when the current value was told */
  observedAt?: string;
  /** where the syncs read the value, of a goal of the company's own; absent: the company tells it */
  source?: Source;
  /** the value at the beginning; absent in a request: that of the stored goal, or else current, or else the first one that the source gives */
  start?: string;
  /** the value that reaches the goal */
  target: string;
  /** what is counted */
  unit: string;
}

/** An item that a sync in the sandbox would have stored. */
export interface Preview {
  /** id of the item at the provider */
  externalId: string;
  /** kind of the item at the provider */
  kind?: string;
  /** whether the item would become a memory, a goal or a note on the timeline */
  target: "memory" | "goal" | "note";
  /** title of the item */
  title: string;
  /** web page of the item at the provider */
  url?: string;
}

export type Priority = "P1" | "P2" | "P3" | "P4";

/** What a sync has done so far, in items. */
export interface Progress {
  /** items that are new */
  created: number;
  /** items that were removed, because the provider no longer has them */
  deleted: number;
  /** items that are invalid and were left out */
  failed: number;
  /** items fetched */
  fetched: number;
  /** pages fetched */
  pages: number;
  /** items that have not changed */
  unchanged: number;
  /** items that have changed */
  updated: number;
}

export type RecommendationState = "active" | "claimed" | "succeeded" | "failed" | "dismissed";

/** A resource or a person, by type and id. */
export interface Reference {
  /** id of the resource or actor; for an integration, the provider name */
  id: string;
  /** type of the resource or actor: user, integration, memory, goal, sync, approval, recommendation, company, executive, recovery, note, client, grant, service or system */
  type: string;
}

/** What a full sync would remove at once, and who has agreed. */
export interface Removal {
  /** when the user confirmed */
  confirmedAt?: string;
  /** the user who confirmed the removal */
  confirmedBy?: string;
  /** how many items the run would remove */
  items: number;
  /** how many items of the integration are stored, of the kinds that the run lists */
  of: number;
  /** why the run waits, or why it removed nothing */
  reason: string;
  /** when the run ends without removing anything, unless a user confirms before */
  until?: string;
}

export type Role = "founder" | "member" | "operator" | "integration";

export type SandboxReason = "configuration" | "expired" | "failing";

/** Why a sync left items out. */
export interface Skipped {
  /** the id or the title of the first of them, if it has one */
  example?: string;
  /** how many items were left out for it */
  items: number;
  /** why the items were left out */
  reason: string;
}

export type SyncMode = "sandbox" | "live";

export type SyncState = "requested" | "running" | "awaiting-confirmation" | "succeeded" | "failed" | "cancelled";

export type TimelineKind = "integration.configured" | "integration.certified" | "integration.sandboxed" | "integration.disabled" | "memory.synced" | "goal.updated" | "goal.alignment.changed" | "policy.denied" | "approval.requested" | "approval.decided" | "executive.acted" | "note" | "brief" | "client.created" | "client.rotated" | "client.deleted" | "access.given" | "access.ended";

export type UserState = "active" | "invited" | "disabled";

export type Work = "open" | "done" | "blocked";

export type AlignmentStatus = "aligned" | "drifting" | "misaligned";

/** What wrote an audit record, as OCSF's product. */
export interface AuditProduct {
  /** orgops */
  name: string;
  /** orgops */
  vendor_name: string;
  /** the release */
  version: string;
}

/** A request, as OCSF's request. */
export interface AuditRequest {
  /** the request's id in X-Request-Id and in the logs */
  uid: string;
}

/** An access token, as OCSF's session. */
export interface AuditSession {
  /** the token's id (jti) */
  uid: string;
}

/** A user, or an operator of the service, as OCSF's user. */
export interface AuditUser {
  /** the operator of the service */
  name?: string;
  /** 1: user; 3: system, for the operator of the service */
  type_id: number;
  /** the user's id */
  uid?: string;
}

export type MeasureDirection = "up" | "down";

/** The verdict if the policies that are log-only were enforced. */
export interface Shadow {
  /** the policies that would decide */
  policies: Array<string>;
  /** why, from the policies that would decide */
  reasons: Array<string>;
  /** the verdict with these policies */
  verdict: Verdict;
}

/** Where the number of a goal of the company's own comes from. */
export interface Source {
  /** what becomes of the numbers of all records; last: that of the last record in the provider's order; count: how many records have a value there */
  aggregate: MeasureAggregate;
  /** when the integration was deleted; the goal keeps its last value */
  endedAt?: string;
  /** what the number is multiplied by, such as 0.01 for cents; absent: 1 */
  factor?: string;
  /** JSON Pointer to the number in a record as the provider sends it, or to what is counted; an empty text: the record itself */
  pointer: string;
  /** the integration whose syncs read the number */
  provider: string;
  /** the list that has the records; list-connectors names the lists of each connector */
  stream: string;
}

export type Verdict = "permitted" | "denied" | "needs-approval";

export type MeasureAggregate = "last" | "sum" | "count" | "min" | "max" | "avg";
