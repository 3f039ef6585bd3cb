import { z } from 'zod'
import type { HistoryStore } from '../../core/history/history-store.ts'
import type { LoginRequest } from '../../core/tokens/acts/issue-login.ts'
import { requestedScope, scopeFields } from '../../core/tokens/store/scope.ts'
import { refuse, ServiceError } from '../../errors.ts'
import {
  type Exchange,
  loginPlace,
  nameList,
  type Reply,
  type Resource,
  resource,
} from '../../http/resource/resource.ts'
import { guardField, made } from '../../jwt/history/tried-change.ts'
import { whatIfResource } from '../../jwt/history/what-if-resources.ts'
import { parseStrictObject } from '../../jwt/jws/strict-json.ts'
import { lowerStringField, mapField, mapOrTextField, stringField, timeField } from '../../lib/text/fields.ts'
import { type JsonValue, jsonNumber, stringifyJson } from '../../lib/text/json.ts'
import { timeMilliseconds } from '../../lib/text/time.ts'
import { celAnswers } from './cel/cel-answers.ts'
import {
  type CelRole,
  celRoleFields,
  checkProgram,
  patchedCelRole,
  readProgram,
  shownCelRole,
} from './cel/cel-role.ts'
import type { Field, Outcome } from './cel/outcome.ts'
import type { LoginReports } from './explain/login-reports.ts'
import { newAttempt } from './login/flow-trace.ts'
import type { JwtMethod } from './method.ts'
import { celReplacement, celRoleChange, celRoleRemoval } from './what-if/tried-changes.ts'

const loginInput = z.object({
  role: lowerStringField.describe('CEL role to log in with; the configured default if empty'),
  jwt: stringField.meta({ description: 'Signed JWT', writeOnly: true }),
  ...scopeFields,
})
const tryInput = z.object({
  cel_program: mapOrTextField.describe('The program, as in a role'),
  claims: mapField.describe('Claims to evaluate it with'),
  now: timeField.optional().describe('Time to evaluate it at; the present if absent'),
})

type Parts = {
  readonly method: JwtMethod
  readonly history: HistoryStore
  readonly reports: LoginReports
  /** Creates entity, alias and token of a login. */
  issue(request: LoginRequest): Promise<Pick<Reply, 'auth' | 'warnings'>>
  policyExists(name: string, namespace: string): Promise<boolean>
  now(): number
}

/** `cel/role`, `cel/login` and `cel/try`. docs/contract/cel.md */
export const celResources = ({
  method,
  history: store,
  reports,
  issue,
  policyExists,
  now,
}: Parts): Resource[] => [
  nameList('/cel/role', {
    help: 'The CEL roles of this mount.',
    summary: 'List the CEL roles',
    names: (mount) => method.stateOf(mount).celRoles.names(),
  }),
  resource('/cel/role/:name', {
    help: 'A CEL role: a program decides who may log in, and what the token may do.',
    canonical: (below) => below.toLowerCase(),
    history: {
      store,
      record: ({ mount, params }) => method.stateOf(mount).celRoles.recordKey(roleName(params)),
      path: ({ params }) => `cel/role/${roleName(params)}`,
      ofTheWrite: ['guard'],
      form: async ({ mount, params }) =>
        (await method.stateOf(mount).celRoles.find(roleName(params)))?.record,
    },
    read: {
      summary: 'Read a CEL role',
      ...celAnswers.role,
      handle: async ({ mount, params }) => {
        const role = await method.stateOf(mount).celRoles.find(roleName(params))
        return role && { data: shownCelRole(role) }
      },
    },
    write: {
      summary: 'Create or replace a CEL role',
      required: ['cel_program'],
      ...celAnswers.role,
      input: celRoleFields.extend({ guard: guardField }).meta({ examples: [exampleRole] }),
      handle: (exchange) => {
        const { guard, ...input } = exchange.input
        const { mount, params } = exchange
        const exists = (policy: string) => policyExists(policy, mount.namespace)
        return made(exchange, celReplacement(method, { mount, name: roleName(params) }, input, exists), guard)
      },
    },
    patch: {
      summary: 'Change some fields of a CEL role',
      ...celAnswers.role,
      input: celRoleFields.extend({ guard: guardField }),
      handle: (exchange) => {
        const { mount, params, input, sent } = exchange
        const decide = (before: CelRole | undefined) => {
          if (before === undefined) throw refuse('invalid', 'Unable to fetch cel role entry to patch')
          return patchedCelRole(before, sent)
        }
        const exists = (policy: string) => policyExists(policy, mount.namespace)
        const change = celRoleChange(method, mount, roleName(params), { decide, policyExists: exists })
        return made(exchange, change, input.guard)
      },
    },
    delete: {
      summary: 'Delete a CEL role',
      handle: (exchange) => made(exchange, celRoleRemoval(method, exchange.mount, roleName(exchange.params))),
    },
  }),
  whatIfResource('/cel/role/:name/what-if', {
    subject: 'CEL role',
    summary: 'Try a write of a CEL role on recent logins',
    input: celRoleFields,
    change: ({ mount, params, input }) =>
      celReplacement(method, { mount, name: roleName(params) }, input, (policy) =>
        policyExists(policy, mount.namespace),
      ),
  }),
  resource('/cel/login', {
    help: 'Log in with a signed JWT, by the program of a CEL role.',
    open: true,
    wrapsWithoutToken: true,
    namesRequest: true,
    write: {
      summary: 'Log in with a JWT and a CEL role',
      required: ['jwt'],
      form: 'auth',
      input: loginInput,
      handle: ({ call, mount, input, whenSilent, clientCertificate }) => {
        const asToken = call.loginKind === 'token' ? { certificate: clientCertificate() } : undefined
        const attempt = newAttempt({ role: input.role, token: input.jwt, asToken })
        return reports.watch({ call, mount, path: 'cel/login', attempt }, async () => {
          const login = {
            address: call.remoteAddress,
            asToken,
            whenSilent,
            onOutcome: (outcome: Outcome) => {
              attempt.outcome = outcome
            },
          }
          const scope = requestedScope(input)
          const auth = await method.celLogin(mount, { ...input, operation: 'update' }, login)
          return { reply: await issue({ ...loginPlace(mount, call), auth: { ...auth, scope } }) }
        })
      },
    },
  }),
  resource('/cel/try', {
    help: 'What a program would decide, without storing it.',
    passesReadOnly: true,
    write: {
      summary: 'Try a program',
      ...celAnswers.tried,
      input: tryInput,
      handle: async (exchange) => {
        const at = exchange.input.now === undefined ? now() : timeMilliseconds(exchange.input.now)
        return { data: await tried(method, exchange, at) }
      },
    },
  }),
]

const roleName = ({ name }: { name: string }): string => name.toLowerCase()

const exampleRole = {
  bound_audiences: ['https://vault.example.com'],
  cel_program: {
    variables: [{ name: 'person', expression: "'person:' + claims.sub" }],
    expression:
      "claims.team == 'shop' ? pb.Auth{policies: ['shop'], alias: logical.Alias{name: person}} : 'not in the team'",
  },
}

/** The decision of a program about made-up claims. docs/contract/cel.md#trying-a-program */
async function tried(
  method: JwtMethod,
  { call, mount, input, whenSilent }: Exchange<z.output<typeof tryInput>, unknown>,
  now: number,
): Promise<object> {
  try {
    const program = readProgram(input.cel_program)
    checkProgram(program)
    const given = parseStrictObject(stringifyJson(input.claims ?? {}))
    if (given === undefined || given === null) throw refuse('invalid', 'these claims would be no JWT')
    const by = { address: call.remoteAddress, whenSilent }
    const { variables, outcome } = await method.tryProgram(mount, by, {
      program,
      input: { claims: given, now, operation: 'update' },
    })
    return { valid: true, error: '', variables, result: shownOutcome(outcome) }
  } catch (error) {
    if (!(error instanceof ServiceError) || error.kind !== 'invalid') throw error
    return { valid: false, error: error.message, variables: [], result: null }
  }
}

function shownOutcome(outcome: Outcome): object {
  switch (outcome.kind) {
    case 'auth':
      return { kind: 'auth', value: plain(outcome.auth) }
    case 'denied':
      return { kind: 'denied', value: false }
    case 'message':
      return { kind: 'message', value: outcome.text }
    case 'type':
      return { kind: 'type', value: outcome.type }
    case 'error':
    case 'limit':
      return { kind: 'error', value: outcome.text }
  }
}

/** A field of a message as JSON. */
function plain(field: Field): JsonValue {
  if (typeof field === 'bigint') return jsonNumber(String(field))
  if (typeof field === 'string' || typeof field === 'boolean') return field
  if (field instanceof Map) return Object.fromEntries([...field].map(([name, value]) => [name, plain(value)]))
  return [...field].map((item) => plain(item as Field))
}
