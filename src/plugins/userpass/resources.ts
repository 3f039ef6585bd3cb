import { z } from 'zod'
import type { HistoryStore } from '../../core/history/history-store.ts'
import type { LoginRequest } from '../../core/tokens/acts/issue-login.ts'
import type { LoginReports, RefusedLogin } from '../../core/tokens/acts/login-reports.ts'
import { requestedScope, scopeFields } from '../../core/tokens/store/scope.ts'
import { exampleSettings, shownTokenFields, wholeTokenFields } from '../../core/tokens/store/token-fields.ts'
import {
  type KeptHistory,
  loginPlace,
  lowerCase,
  maySend,
  nameList,
  type Reply,
  type Resource,
  resource,
  unknownPaths,
  warned,
} from '../../http/resource/resource.ts'
import type { LogLine } from '../../lib/system/log-fields.ts'
import { stringField } from '../../lib/text/fields.ts'
import type { Asking } from '../../logins/explain/explain-replies.ts'
import type { SentFacts, TracedFailure } from '../../logins/explain/login-failures.ts'
import { LoginSteps } from '../../logins/explain/login-steps.ts'
import { recordRefused } from '../../logins/explain/record-refused.ts'
import { failureOf, refusedLoginResources } from '../../logins/explain/secret-logins.ts'
import { type LoginAttempt, loginChecks, type UserpassMethod } from './method.ts'
import { shownUser, userFields } from './user.ts'

export type UserpassParts = {
  readonly history: HistoryStore
  readonly method: UserpassMethod
  readonly reports: LoginReports
  readonly log: { readonly error: LogLine }
  issue(request: LoginRequest): Promise<Pick<Reply, 'auth' | 'warnings'>>
}

const password = stringField.optional().meta({ writeOnly: true })
const password_hash = password.describe('Instead of the password: its bcrypt hash, with a cost of 5 to 12')
const examplePassword = 'correct horse battery staple'
const userInput = userFields
  .extend({
    password: password.describe('Password; a new user needs one, an update without it keeps it'),
    password_hash,
  })
  .meta({ examples: [{ password: examplePassword, token_policies: ['deploy'] }] })
const passwordInput = z
  .object({ password: password.describe('New password'), password_hash })
  .meta({ examples: [{ password: examplePassword }] })
const policiesInput = userFields.pick({ token_policies: true, policies: true })
const loginInput = z.object({
  password: stringField.default('').meta({ writeOnly: true }).describe('Password'),
  ...scopeFields,
})

type Named = { readonly username: string }

/** Names are the same in any spelling. */
const placeOf = ({ mount, params }: { mount: LoginRequest['mount']; params: Named }) => ({
  mount,
  name: params.username.toLowerCase(),
})

/** The method `userpass`, `auth/<mount>/*`. docs/contract/userpass.md */
export const userpassResources = (parts: UserpassParts): Resource[] => [
  ...userResources(parts, userHistory(parts)),
  loginResource(parts),
  ...refusedLoginResources({
    failuresOf: (mount) => parts.method.failuresOf(mount),
    isSeen: () => true,
    mayExplain: maySeeName,
  }),
  unknownPaths({ url: '/login/*', open: true }),
]

/**
 * Whether the caller may learn whose login was refused, and whether there is such a user. Names that nobody has are not
 * kept, so that those are told that nobody has it who may list the users. docs/contract/userpass.md#why-a-login-was-refused
 */
const maySeeName = (exchange: Asking, { discreet: { subject } }: TracedFailure): boolean =>
  subject === undefined
    ? maySend(exchange, { operation: 'list', path: 'users' })
    : maySend(exchange, { operation: 'read', path: `users/${subject}`, canonical: lowerCase })

const userHistory = ({ method, history: store }: UserpassParts): KeptHistory<Named> => ({
  store,
  record: (place) => method.usersOf(place.mount).recordKey(placeOf(place).name),
  path: ({ params }) => `users/${params.username.toLowerCase()}`,
  form: async (place) => {
    const user = await method.find(placeOf(place))
    return user && { ...wholeTokenFields(user.settings), password_hash: user.passwordHash }
  },
  // a caller who may set no password may take other changes back
  adapt: async ({ password_hash: hash = null, ...form }, place) =>
    hash === null || hash === (await method.find(placeOf(place)))?.passwordHash
      ? form
      : { ...form, password_hash: hash },
  // not password_hash: the hash of a revert is that of the history
  besides: ['password'],
})

const userResources = ({ method }: UserpassParts, history: KeptHistory<Named>): Resource[] => [
  nameList('/users', {
    help: 'The users of this mount.',
    summary: 'List the users',
    names: (mount) => method.usersOf(mount).names(),
  }),
  resource('/users/:username', {
    help: 'A user: the password, and what the token may do.',
    canonical: lowerCase,
    history,
    exists: async (exchange) => (await method.find(placeOf(exchange))) !== undefined,
    read: {
      summary: 'Read a user, without the password',
      output: userFields,
      example: shownTokenFields(exampleSettings),
      handle: async (exchange) => {
        const user = await method.find(placeOf(exchange))
        return user && { data: shownUser(user) }
      },
    },
    write: {
      summary: 'Create or change a user',
      input: userInput,
      handle: async (exchange) => {
        const { password = '', password_hash: hash = '', ...settings } = exchange.input
        const isRestored = exchange.call.restores !== undefined
        const given = isRestored
          ? { password, password_hash: '', restored: password === '' ? hash : '' }
          : { password, password_hash: hash }
        return warned(await method.put(placeOf(exchange), settings, given))
      },
    },
    delete: {
      summary: 'Delete a user',
      handle: (exchange) => method.usersOf(exchange.mount).delete(placeOf(exchange).name),
    },
  }),
  resource('/users/:username/password', {
    help: 'The password of a user.',
    canonical: lowerCase,
    history: { ...history, elsewhere: 'part' },
    write: {
      summary: 'Change the password of a user',
      input: passwordInput,
      handle: (exchange) => {
        const { password = '', password_hash = '' } = exchange.input
        return method.setPassword(placeOf(exchange), { password, password_hash })
      },
    },
  }),
  resource('/users/:username/policies', {
    help: 'The policies of a user.',
    canonical: lowerCase,
    history: { ...history, elsewhere: 'part' },
    write: {
      summary: 'Change the policies of a user',
      input: policiesInput,
      handle: (exchange) => method.setPolicies(placeOf(exchange), exchange.input),
    },
  }),
]

/** The name, if somebody has it: people type passwords into fields for names. */
const discreetOf = ({ user, name }: LoginAttempt, { reason }: RefusedLogin): SentFacts['discreet'] => ({
  ...(user !== undefined && { subject: name }),
  ...(reason === 'password_wrong' && {
    cause: user === undefined ? 'nobody has this name' : 'the user has another password',
  }),
})

const loginResource = ({ method, reports, log, issue }: UserpassParts): Resource =>
  resource('/login/:username', {
    help: 'Log in with a name and a password.',
    open: true,
    wrapsWithoutToken: true,
    namesRequest: true,
    write: {
      summary: 'Log in with a password',
      required: ['password'],
      form: 'auth',
      input: loginInput,
      handle: async (exchange) => {
        const { call, mount, input, whenSilent } = exchange
        const place = placeOf(exchange)
        const attempt: LoginAttempt = {
          ...place,
          ...input,
          user: undefined,
          steps: new LoginSteps(loginChecks),
          client: { address: call.remoteAddress, name: `${mount.uuid}/${place.name}`, whenSilent },
        }
        const who = () => (attempt.user === undefined ? {} : { user: place.name })
        const record = (refused: RefusedLogin) =>
          recordRefused({ failures: method.failuresOf(mount), call, mount, log }, async () =>
            failureOf({
              refused,
              steps: attempt.steps,
              role: '',
              subject: place.name,
              discreet: discreetOf(attempt, refused),
            }),
          )
        return reports.watch({ call, mount, who, record }, async () => {
          const scope = requestedScope(input)
          const auth = await method.login(attempt)
          const reply = await issue({ ...loginPlace(mount, call), auth: { ...auth, scope } })
          await method.noteLogin(attempt)
          await method.renewHash(attempt)
          return reply
        })
      },
    },
  })
