import { z } from 'zod'
import type { Mount } from '../../core/mounts/mount.ts'
import { fail } from '../../errors.ts'
import {
  checkMayReach,
  checkMaySend,
  type DocumentedAnswer,
  mayReach,
  maySend,
  type Resource,
  resource,
} from '../../http/resource/resource.ts'
import { boolField, lowerStringField } from '../../lib/text/fields.ts'
import type { JsonObject } from '../../lib/text/json.ts'
import { explainAnswers } from '../../logins/explain/explain-answers.ts'
import {
  type Asking,
  failureResources,
  maySendExplain,
  type SeenFailure,
} from '../../logins/explain/explain-replies.ts'
import { keysResource } from '../observatory/observatory.ts'
import type { JwtFailures } from './sent-token.ts'

const toConfig = { operation: 'read', path: 'config' } as const

/** Of a role, or of a CEL role as `cel/<name>`. */
const toRole = (role: string) => ({
  path: role.replace(/^(cel\/)?/, '$1role/'),
  canonical: (below: string) => below.toLowerCase(),
})

/** Whether the caller may learn what this role expects. */
export const maySeeRole = (exchange: Asking, role: string): boolean =>
  role === '' || mayReach(exchange, { operation: 'read', ...toRole(role) })

export const maySeeConfig = (exchange: Asking): boolean => mayReach(exchange, toConfig)

/** What is explained quotes the role and the configuration. */
export function checkMaySee(exchange: Asking, role: string): void {
  if (!maySeeRole(exchange, role) || !maySeeConfig(exchange)) throw fail('denied', 'permission denied')
}

/** A right to explain is no right to make a role up, which decides what others are asked. */
export const checkMayWriteRole = (exchange: Asking, role: string, fields: JsonObject): void =>
  checkMaySend(exchange, { operation: 'update', fields, ...toRole(role) })

/** Whether the caller may explain refused logins of this role. */
const mayExplain = (exchange: Asking, role: string): boolean =>
  maySendExplain(exchange) &&
  maySend(exchange, toConfig) &&
  (role === '' || maySend(exchange, { operation: 'read', ...toRole(role) }))

export const roleOfFailure = ({ role, path }: SeenFailure): string =>
  role !== '' && path === 'cel/login' ? `cel/${role}` : role

type Finding = { readonly role: string }

type Spec = {
  failuresOf(mount: Mount): JwtFailures
  readonly status: {
    readonly help: string
    readonly answer: DocumentedAnswer
    /** What `refresh` does. */
    readonly refreshes: string
    read(mount: Mount, refresh: boolean): Promise<object>
  }
  keys(mount: Mount, refresh: boolean): Promise<object>
  readonly lint: {
    readonly help: string
    readonly summary: string
    /** Of all roles if `role` is empty; undefined if it does not exist. */
    find(mount: Mount, role: string): Promise<readonly Finding[] | undefined>
  }
}

/** The siblings of `explain`: `failures`, `failures/hash`, `status`, `keys` and `lint`. docs/explain.md */
export const explainSiblings = ({ failuresOf, status, keys, lint }: Spec): Resource[] => [
  ...failureResources({
    failuresOf,
    isSeen: (exchange, failure) => maySeeRole(exchange, roleOfFailure(failure)),
    mayExplain: (exchange, { failure: { path }, existingRole: role }) =>
      mayExplain(exchange, roleOfFailure({ role, path })),
    checkMayList: (exchange) => checkMayReach(exchange, toConfig),
  }),
  resource('/status', {
    help: status.help,
    read: {
      summary: 'Read the state of the method',
      ...status.answer,
      input: z.object({ refresh: boolField.describe(status.refreshes) }),
      handle: async (exchange) => {
        checkMayReach(exchange, toConfig)
        return { data: await status.read(exchange.mount, exchange.input.refresh) }
      },
    },
  }),
  keysResource(keys),
  resource('/lint', {
    help: lint.help,
    read: {
      summary: lint.summary,
      ...explainAnswers.findings,
      input: z.object({ role: lowerStringField.describe('Only this role') }),
      handle: async (exchange) => {
        const { mount, input } = exchange
        if (input.role !== '') checkMaySee(exchange, input.role)
        const findings = await lint.find(mount, input.role)
        const isSeen = ({ role }: Finding) =>
          role === '' ? maySeeConfig(exchange) : maySeeRole(exchange, role)
        return findings && { data: { findings: findings.filter(isSeen) } }
      },
    },
  }),
]
