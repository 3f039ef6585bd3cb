export type Statement = { readonly name: string; readonly text: string }

const statement = (name: string, text: string): Statement => ({ name, text })

export type WriteParts = {
  /** Rows that do not exist. */
  readonly inserts: boolean
  /** Rows that may exist. */
  readonly puts: boolean
  readonly deletes: boolean
  /** Rows that keep their revision. */
  readonly rewrites: boolean
  /** Other servers must hear of it. */
  readonly isReported: boolean
}

/** The channel that tells servers to read `changes`. */
export const channel = 'gatehouse_changes'

const built = new Map<string, Statement>()

/**
 * One statement, and so one transaction, for all rows of a group. It marks the commit first: without its row
 * in `commits`, which ends with the server's row in `replicas`, it writes nothing and returns no row. The
 * version is raised last, so that its row is locked as briefly as possible.
 */
export function writeStatement(parts: WriteParts, notifies: boolean): Statement {
  const { inserts, puts, deletes, rewrites, isReported } = parts
  const name = `write${inserts ? '_i' : ''}${puts ? '_p' : ''}${deletes ? '_d' : ''}${rewrites ? '_k' : ''}${isReported ? (notifies ? '_n' : '_r') : ''}`
  const found = built.get(name) ?? statement(name, buildWrite(parts, notifies))
  built.set(name, found)
  return found
}

function buildWrite({ inserts, puts, deletes, rewrites, isReported }: WriteParts, notifies: boolean): string {
  let last = 2
  const next = () => {
    last += 1
    return `$${last}`
  }
  const returning = isReported ? ' RETURNING 1' : ''
  const ctes = ['c AS (UPDATE commits SET commit_id = $1 WHERE slot = $2 RETURNING slot)']
  const rows = () => `FROM c, unnest(${next()}::text[], ${next()}::bytea[]) AS n (key, value)`
  if (inserts)
    ctes.push(`i AS (INSERT INTO records (key, value) SELECT n.key, n.value ${rows()}${returning})`)
  if (puts)
    ctes.push(
      `p AS (INSERT INTO records (key, value) SELECT n.key, n.value ${rows()} ` +
        `ON CONFLICT (key) DO UPDATE SET value = excluded.value, revision = excluded.revision${returning})`,
    )
  if (deletes)
    ctes.push(`d AS (DELETE FROM records USING c WHERE records.key = ANY (${next()}::text[])${returning})`)
  if (rewrites)
    ctes.push(`k AS (UPDATE records SET value = n.value ${rows()} WHERE records.key = n.key${returning})`)
  if (!isReported) return `WITH ${ctes.join(', ')} SELECT 0 FROM c`
  const parts = [inserts && 'i', puts && 'p', deletes && 'd', rewrites && 'k'].filter(
    (part) => part !== false,
  )
  const done = parts.map((part) => `(SELECT count(*) FROM ${part}) AS ${part}`).join(', ')
  ctes.push(
    `v AS (UPDATE cache_version SET version = version + 1 FROM c, ${done} WHERE id = 1 RETURNING version)`,
    `h AS (INSERT INTO changes (version, commit_id, keys, prefix) SELECT version, $1, ${next()}::text[], ${next()}::text FROM v)`,
  )
  const notice = notifies ? `, pg_notify('${channel}', '')` : ''
  return `WITH ${ctes.join(', ')} SELECT version${notice} FROM v`
}

const range = (columns: string, comparison: string) =>
  `SELECT ${columns} FROM records WHERE key ${comparison} $1 AND key < $2 ORDER BY key LIMIT $3`

/** Ways to read a range: with its first key or without, or several at once. */
export type RangeStatements = Readonly<Record<'from' | 'after' | 'several', Statement>>

const rangeStatements = (name: string, columns: string): RangeStatements => ({
  from: statement(`${name}_from`, range(columns, '>=')),
  after: statement(`${name}_after`, range(columns, '>')),
  several: statement(
    `${name}_several`,
    `SELECT r.at, t.* FROM unnest($1::text[], $2::text[], $3::bigint[]) ` +
      `WITH ORDINALITY AS r (first, bound, size, at) CROSS JOIN LATERAL (SELECT ${columns} FROM records ` +
      'WHERE key >= r.first AND key < r.bound ORDER BY key LIMIT r.size) AS t ORDER BY r.at, t.key',
  ),
})
export const listRecords = rangeStatements('list', 'key, value, revision')
export const listKeys = rangeStatements('keys', 'key')

/** What a notification says if a server waits for what the others have handled. */
export const heartbeatWanted = 'heartbeat'

/** Each is prepared under the name that it has here. */
export const statements = named({
  readOne: 'SELECT key, value, revision FROM records WHERE key = $1',
  readMany: 'SELECT key, value, revision FROM records WHERE key = ANY ($1::text[])',

  lockRows: 'SELECT key, value, revision FROM records WHERE key = ANY ($1::text[]) ORDER BY key FOR UPDATE',
  lockRange: `${range('key', '>=')} FOR UPDATE`,
  lockJobs: 'SELECT name, epoch FROM jobs WHERE name = ANY ($1::text[]) ORDER BY name FOR SHARE',

  addSlot: "INSERT INTO commits (slot, replica, commit_id) VALUES ($1, $2, '')",
  /** Decides whether a commit has happened: after it, the connection of the slot cannot commit any more. */
  removeSlot: 'DELETE FROM commits WHERE slot = $1 RETURNING commit_id',

  /** Removes slots that no connection uses. Returns those that a transaction still holds. */
  removeSlots:
    'WITH gone AS (DELETE FROM commits WHERE slot IN ' +
    '(SELECT slot FROM commits WHERE slot = ANY ($1::text[]) FOR UPDATE SKIP LOCKED) RETURNING slot) ' +
    'SELECT slot FROM commits WHERE slot = ANY ($1::text[]) EXCEPT SELECT slot FROM gone',

  /** The changes from the given version on, itself included: it proves that the history is the same. */
  readChanges:
    'SELECT v.version, c.version, c.commit_id, c.keys, c.prefix, ' +
    'EXISTS (SELECT 1 FROM replicas WHERE id = $2) ' +
    'FROM cache_version v LEFT JOIN changes c ON c.version >= least($1::bigint, v.version) ' +
    'WHERE v.id = 1 ORDER BY c.version LIMIT 2000',
  pruneChanges:
    "DELETE FROM changes WHERE written_at < now() - interval '60 seconds' AND version < (SELECT version FROM cache_version WHERE id = 1)",

  addReplica: 'INSERT INTO replicas (id, name) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING RETURNING id',
  findReplica: 'SELECT id, heartbeat_at::text FROM replicas WHERE name = $1',
  replaceReplica: 'DELETE FROM replicas WHERE id = $1 AND heartbeat_at::text = $2',
  removeReplica: 'DELETE FROM replicas WHERE id = $1',
  heartbeat: 'UPDATE replicas SET heartbeat_at = now(), version_seen = $2::bigint WHERE id = $1 RETURNING id',
  askForHeartbeats: `SELECT pg_notify('${channel}', '${heartbeatWanted}')`,
  liveReplicas:
    'SELECT id, name, extract(epoch FROM now() - heartbeat_at) * 1000, version_seen FROM replicas ' +
    "WHERE heartbeat_at > now() - $1::float8 * interval '1 millisecond' ORDER BY name",
  /** The servers that have not handled a version, and whether they are alive. */
  behindReplicas:
    "SELECT id, heartbeat_at > now() - $2::float8 * interval '1 millisecond' FROM replicas " +
    'WHERE version_seen < $1::bigint',
  fenceReplica:
    'DELETE FROM replicas WHERE id = $1 AND version_seen < $2::bigint ' +
    "AND heartbeat_at < now() - $3::float8 * interval '1 millisecond' RETURNING id",

  /**
   * A row that is added again has a greater epoch than any holder had before: it begins with the time. All servers
   * lock rows in the order of their names.
   */
  holdJobs:
    'INSERT INTO jobs (name, replica, epoch, until) ' +
    'SELECT name, $2, floor(extract(epoch FROM clock_timestamp()) * 1000), ' +
    "clock_timestamp() + ttl::float8 * interval '1 millisecond' " +
    'FROM unnest($1::text[], $3::text[]) AS wanted (name, ttl) ORDER BY name ' +
    'ON CONFLICT (name) DO UPDATE SET replica = excluded.replica, until = excluded.until, ' +
    'epoch = jobs.epoch + CASE WHEN jobs.replica = excluded.replica THEN 0 ELSE 1 END ' +
    'WHERE jobs.replica = excluded.replica OR jobs.replica IS NULL OR jobs.until < clock_timestamp() ' +
    'RETURNING name, epoch',
  releaseJob:
    'UPDATE jobs SET replica = NULL, until = now() WHERE name = $1 AND replica = $2 AND epoch = $3::bigint',

  /** Removes those that nobody has done for long: a lock, and the removal of a mount, have a row each. */
  pruneJobs: "DELETE FROM jobs WHERE until < clock_timestamp() - interval '10 minutes'",

  /** Those of some backends that wait until a standby has confirmed their commit. */
  waitingForStandby:
    "SELECT pid FROM pg_stat_activity WHERE pid = ANY ($1::int[]) AND wait_event = 'SyncRep'",

  databaseTime: 'SELECT extract(epoch FROM clock_timestamp()) * 1000',

  recordBytes: "SELECT pg_total_relation_size('records')",
})

function named<Name extends string>(
  texts: Readonly<Record<Name, string>>,
): Readonly<Record<Name, Statement>> {
  const entries = Object.entries<string>(texts).map(([name, text]) => [name, statement(name, text)])
  // it has exactly the names of `texts`
  return Object.fromEntries(entries)
}
