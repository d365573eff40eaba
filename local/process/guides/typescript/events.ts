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
  | Envelope<"goal.alignment.changed", GoalEventData>
  | Envelope<"goal.updated", GoalEventData>
  | Envelope<"integration.sync.completed", SyncEventData>
  | Envelope<"memory.created", MemoryEventData>
  | Envelope<"memory.synced", SyncEventData>
  | Envelope<"memory.updated", MemoryEventData>
  | Envelope<"orgops.sample", SampleEventData>
  | Envelope<"timeline.entry.created", TimelineEventData>;

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

/** Whether a goal will be reached in time, and why. */
export interface Alignment {
  /** when the status last changed; until a day later it changes again only if the goal is closed */
  changedAt?: string;
  /** why the goal has this status, in words */
  reasons: Array<string>;
  /** progress divided by the share of the time that has passed, at most 1; at most 0.7 if the work is stalled */
  score: number;
  /** whether the pace is enough: aligned from a score of 0.8, drifting from 0.5, otherwise misaligned; an overdue goal is misaligned, and a goal whose work is stalled is drifting at best */
  status: AlignmentStatus;
}

export type GoalStall = "blocked" | "stale";

export type GoalState = "open" | "closed";

/** The number that a goal is measured by. */
export interface Measure {
  /** the newest value; absent in a request: start */
  current?: string;
  /** up: the number must grow to the target; down: it must fall to it */
  direction: MeasureDirection;
  /** when the current value was told */
  observedAt?: string;
  /** the value at the beginning; absent in a request: that of the stored goal, or else current */
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

/** A resource or a person, by type and id. */
export interface Reference {
  /** id of the resource or actor; for an integration, the provider name */
  id: string;
  /** type of the resource or actor: user, integration, memory, goal, sync, approval, recommendation, company, executive, recovery, note, client, service or system */
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

export type TimelineKind = "integration.configured" | "integration.certified" | "integration.sandboxed" | "integration.disabled" | "memory.synced" | "goal.updated" | "goal.alignment.changed" | "policy.denied" | "approval.requested" | "approval.decided" | "executive.acted" | "note" | "brief" | "client.created" | "client.rotated" | "client.deleted";

export type Work = "open" | "done" | "blocked";

export type AlignmentStatus = "aligned" | "drifting" | "misaligned";

export type MeasureDirection = "up" | "down";
