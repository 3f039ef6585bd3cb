import type { Mount } from '../../../core/mounts/mount.ts'
import { fail } from '../../../errors.ts'
import { Limiter } from '../../../lib/concurrency/limiter.ts'
import { wait } from '../../../lib/concurrency/wait.ts'
import type { EngineParts } from '../engine-parts.ts'
import { MountLooks } from '../mount-looks.ts'
import type { MountState } from '../mount-state.ts'
import type { Requester } from '../records/credential-record.ts'
import { comparePasswords } from './compare-passwords.ts'
import { deleteStaticRole } from './delete-static-role.ts'
import { retireAll, retireDue } from './leaving-passwords.ts'
import { rotateStaticRole } from './rotate-static-role.ts'
import type { StaticRoleInput } from './static-role-input.ts'
import type { StaticWork } from './static-work.ts'
import {
  importAndReplace,
  importStaticPassword,
  keepsImported,
  repeatImport,
  writeStaticRole,
} from './write-static-role.ts'

const usualTimes = {
  /** Between two looks for roles that are due. */
  lookMs: 5_000,
  /** After this time, a request for a rotation that goes on is answered. */
  replyMs: 60_000,
  /** Of each rotation at least: a thousand roles may be due at once, and a rotation takes CPU time that requests need. */
  restMs: 400,
  /** How long a request waits for a lock: it ends within 90 s, of which the rotation may take `replyMs`. */
  turnMs: 20_000,
}

/** Changed by tests only. */
export type StaticTimes = Partial<typeof usualTimes>

export type StaticRolesParts = EngineParts & { readonly staticTimes?: StaticTimes | undefined }

/** Rotations of one mount at a time. docs/limits.md#cloud-credentials */
const mostInFlight = 4
const mostWaiting = 100
const tooManyRotations = () =>
  fail('throttled', `at most ${mostInFlight} rotations of a mount run at a time; try again`)
/** After a failure that could not even be stored. */
const againMs = 15_000
const longestPauseMs = 600_000

type Requested = { readonly correlationId: string; readonly requester: Requester }

type Figures = { readonly mount: Mount; due: number; failing: number; ended: number }

/** What runs for one mount here. Aborted when the mount is removed. */
type Running = {
  readonly stopping: AbortController
  readonly byName: Map<string, Promise<void>>
  readonly limiter: Limiter
  /** Requests whose rotation goes on. */
  readonly asked: Set<Promise<void>>
  /** Roles that are left alone for a moment, with the end of that. */
  readonly notBefore: Map<string, number>
  /** The removal of passwords, and the comparison after a restoration. */
  checking: Promise<void> | undefined
  /** What is left of that comparison; undefined when it is complete. */
  comparison: Comparison | undefined
}

/** `names`: undefined means all roles. `at`: when it goes on. */
type Comparison = {
  readonly names: ReadonlySet<string> | undefined
  readonly at: number
  readonly pauseMs: number
}

/**
 * Rotates the roles of all mounts that are due, four of a mount at a time, and removes passwords whose grace period
 * is over. docs/cloud-static-roles.md#rotation
 */
export class StaticRoles implements AsyncDisposable {
  readonly looks: MountLooks
  readonly #parts: StaticRolesParts
  readonly #times: typeof usualTimes
  readonly #start: number
  readonly #runningByUuid = new Map<string, Running>()
  #figures: Promise<Figures[]> | undefined

  constructor(parts: StaticRolesParts) {
    this.#parts = parts
    this.#times = { ...usualTimes, ...parts.staticTimes }
    this.#start = parts.clock.now()
    this.looks = new MountLooks({
      ...parts,
      job: 'cloud-static-roles',
      intervalMs: this.#times.lookMs,
      failure: 'could not look for static roles that are due',
      lookAt: (mount, ended) => this.#lookAt(mount, ended),
    })
  }

  async write(mount: Mount, name: string, sent: StaticRoleInput, by: Requested): Promise<void> {
    const work = { ...this.#work(mount, by.correlationId), ...by }
    if (sent.secret_id === undefined && sent.client_secret === undefined)
      return writeStaticRole(name, sent, work)
    if (!(await repeatImport(name, sent, work))) await this.import(mount, name, sent, by)
  }

  async import(mount: Mount, name: string, sent: StaticRoleInput, by: Requested): Promise<void> {
    const work = { ...this.#work(mount, by.correlationId), ...by }
    if (keepsImported(sent)) return importStaticPassword(name, sent, work)
    const leave = await this.#runningAt(mount).limiter.enter()
    const imported = await importAndReplace(name, sent, work).catch((error: unknown) => {
      leave()
      throw error
    })
    await this.#answered(mount, imported.rotate().finally(leave))
  }

  delete(mount: Mount, name: string, how: { readonly revoke: boolean }): Promise<string[]> {
    return deleteStaticRole(name, how, this.#work(mount, this.#parts.random.uuid()))
  }

  /** Resolves once the new password is in use, or after a minute; then the rotation goes on. */
  async rotate(mount: Mount, name: string, { correlationId, requester }: Requested): Promise<void> {
    const leave = await this.#runningAt(mount).limiter.enter()
    const rotation = rotateStaticRole(name, { why: 'asked', requester }, this.#work(mount, correlationId))
    await this.#answered(mount, rotation.finally(leave))
  }

  async #answered(mount: Mount, rotation: Promise<void>): Promise<void> {
    const { asked } = this.#runningAt(mount)
    const isOver = new AbortController()
    const going = rotation
      // the caller gets the failure, or it is stored
      .catch(() => undefined)
      .finally(() => {
        isOver.abort()
        asked.delete(going)
      })
    asked.add(going)
    await Promise.race([rotation, wait(this.#times.replyMs, isOver.signal)])
    if (isOver.signal.aborted) await rotation
  }

  /** Ends what runs for a mount that is being removed; what was added is undone. */
  async stop(mount: Mount): Promise<void> {
    const running = this.#runningByUuid.get(mount.uuid)
    if (running === undefined) return
    running.stopping.abort()
    await Promise.all([...running.byName.values(), ...running.asked, running.checking])
    this.#runningByUuid.delete(mount.uuid)
  }

  /**
   * Of a mount that is being removed: passwords in their grace period become debris, current ones, which stay, are
   * logged.
   */
  async leave(mount: Mount): Promise<void> {
    const state = this.#parts.stateOf(mount)
    await retireAll(state)
    const left = (await state.staticRoles.all()).flatMap(({ name, role }) =>
      role.current === undefined
        ? []
        : [{ role: name, application: role.application_object_id, key_id: role.current.key_id }],
    )
    if (left.length > 0)
      this.#parts.log.warn(
        {
          event: 'static_password_left',
          mount: mount.path,
          namespace: mount.namespace,
          count: left.length,
          passwords: left.slice(0, mostLogged),
        },
        'passwords of static roles of a removed mount stay upstream until their end',
      )
  }

  /** Values for the gauges, computed once for all that are read at the same time. */
  figures(): Promise<Figures[]> {
    this.#figures ??= this.#count().finally(() => {
      this.#figures = undefined
    })
    return this.#figures
  }

  async #count(): Promise<Figures[]> {
    const now = this.#parts.clock.now()
    return Promise.all(
      this.#parts.everyMount().map(async (mount) => {
        const figures: Figures = { mount, due: 0, failing: 0, ended: 0 }
        for (const { role } of await this.#parts.stateOf(mount).staticRoles.all()) {
          if (role.due !== null && role.due <= now) figures.due += 1
          if (role.is_gone || role.retry !== undefined) figures.failing += 1
          if (role.current !== undefined && Date.parse(role.current.expiration) <= now) figures.ended += 1
        }
        return figures
      }),
    )
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.looks[Symbol.asyncDispose]()
    const running = [...this.#runningByUuid.values()]
    await Promise.all(running.flatMap(({ asked }) => [...asked]))
  }

  async #lookAt(mount: Mount, ended: AbortSignal): Promise<void> {
    const running = this.#runningAt(mount)
    running.checking ??= this.#check(mount, running, ended).finally(() => {
      running.checking = undefined
    })
    await running.checking
    await this.#fill(mount, this.#parts.stateOf(mount), ended)
    while (running.byName.size > 0) await Promise.all(running.byName.values())
  }

  async #check(mount: Mount, running: Running, ended: AbortSignal): Promise<void> {
    const { enter, stateOf, random } = this.#parts
    const leave = enter(mount)
    if (leave === undefined) return
    try {
      await retireDue(stateOf(mount))
      await this.#compare(mount, running, this.#work(mount, random.uuid(), ended))
    } catch (err) {
      this.looks.failed(mount, err)
    } finally {
      leave()
    }
  }

  /** Goes on with the comparison after a restoration, with the roles that are left and growing pauses. */
  async #compare(mount: Mount, running: Running, work: StaticWork): Promise<void> {
    const { clock, log } = this.#parts
    const { comparison } = running
    const now = clock.now()
    if (comparison === undefined || (now < comparison.at && comparison.at <= now + comparison.pauseMs)) return
    const pauseMs = Math.min(longestPauseMs, comparison.pauseMs * 2)
    running.comparison = { ...comparison, at: now + comparison.pauseMs, pauseMs }
    const left = await comparePasswords(this.#start, comparison.names, work)
    running.comparison = left && { names: left.names, at: clock.now() + comparison.pauseMs, pauseMs }
    if (left === undefined) return
    log.warn(
      {
        event: 'static_roles_uncompared',
        mount: mount.path,
        namespace: mount.namespace,
        err: left.cause,
        count: left.names.size,
        roles: [...left.names].slice(0, mostLogged),
      },
      'could not compare the passwords of static roles after a restoration; will retry',
    )
  }

  /** Starts rotations that are due until four are running; each that ends makes room for the next. */
  async #fill(mount: Mount, state: MountState, ended: AbortSignal): Promise<void> {
    const { byName, notBefore, limiter } = this.#runningAt(mount)
    if (ended.aborted || byName.size >= mostInFlight) return
    const now = this.#parts.clock.now()
    for (const [name, until] of notBefore) if (until <= now || until > now + againMs) notBefore.delete(name)
    const due = await state.staticRoles.due(mostInFlight + byName.size + notBefore.size)
    for (const name of due) {
      if (ended.aborted || byName.size >= mostInFlight) return
      if (byName.has(name) || notBefore.has(name)) continue
      const work = this.#work(mount, this.#parts.random.uuid(), ended)
      const rest = wait(this.#times.restMs, ended)
      const rotation = limiter
        .run(() => rotateStaticRole(name, { why: 'due' }, work))
        .catch(() => {
          // its failure is stored and logged; if it could not be stored, the role is still due
          notBefore.set(name, this.#parts.clock.now() + againMs)
        })
        .then(() => rest)
        .then(() => {
          byName.delete(name)
          return this.#fill(mount, state, ended)
        })
        .catch((err: unknown) => this.looks.failed(mount, err))
      byName.set(name, rotation)
    }
  }

  #runningAt({ uuid }: Mount): Running {
    const known = this.#runningByUuid.get(uuid)
    if (known !== undefined) return known
    const running: Running = {
      stopping: new AbortController(),
      byName: new Map(),
      limiter: new Limiter(mostInFlight, {
        most: mostWaiting,
        ms: this.#times.turnMs,
        refusal: tooManyRotations,
      }),
      asked: new Set(),
      notBefore: new Map(),
      checking: undefined,
      comparison: { names: undefined, at: 0, pauseMs: againMs },
    }
    this.#runningByUuid.set(uuid, running)
    return running
  }

  #work(mount: Mount, correlationId: string, ended?: AbortSignal): StaticWork {
    const { stateOf, enter, everyMount } = this.#parts
    const signals = [this.looks.stopping, this.#runningAt(mount).stopping.signal]
    return {
      ...this.#parts,
      state: stateOf(mount),
      correlationId,
      signal: AbortSignal.any(ended === undefined ? signals : [...signals, ended]),
      enter: () => enter(mount),
      otherStates: () => everyMount().flatMap((other) => (other.uuid === mount.uuid ? [] : [stateOf(other)])),
    }
  }
}

const mostLogged = 100
