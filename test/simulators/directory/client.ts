import { randomUUID } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { request } from 'node:https'
import { text } from 'node:stream/consumers'
import type { Directory } from '../../../simulators/directory/directory.ts'

export type Answer = {
  status: number
  headers: IncomingHttpHeaders
  body: Record<string, unknown>
  raw: string
}

type Sent = {
  token?: string
  json?: unknown
  form?: Record<string, string>
  headers?: Record<string, string>
}

/**
 * One request over TLS that trusts only the stand-in's authority. Rejects if there is no complete response.
 */
export function send(
  directory: Directory,
  method: string,
  url: string,
  { token, json, form, headers = {} }: Sent = {},
): Promise<Answer> {
  const payload =
    form === undefined
      ? json === undefined
        ? undefined
        : JSON.stringify(json)
      : new URLSearchParams(form).toString()
  const contentType = form === undefined ? 'application/json' : 'application/x-www-form-urlencoded'
  const sent = {
    ...(payload !== undefined && {
      'content-type': contentType,
      'content-length': String(Buffer.byteLength(payload)),
    }),
    ...(token !== undefined && { authorization: `Bearer ${token}` }),
    ...headers,
  }
  return new Promise((resolve, reject) => {
    const asked = request(url, { method, ca: directory.ca, agent: false, headers: sent }, (response) => {
      text(response).then(
        (raw) =>
          resolve({ status: response.statusCode ?? 0, headers: response.headers, body: parsed(raw), raw }),
        reject,
      )
    })
    asked.on('error', reject)
    asked.end(payload)
  })
}

function parsed(raw: string): Record<string, unknown> {
  try {
    return { ...JSON.parse(raw) }
  } catch {
    return {}
  }
}

export type Who = {
  clientId?: string
  secret?: string
  scope?: string
  tenant?: string
  extra?: Record<string, string>
}

/** Calls the token endpoint, as the root by default. */
export function askToken(directory: Directory, who: Who = {}): Promise<Answer> {
  const form = {
    grant_type: 'client_credentials',
    client_id: who.clientId ?? directory.rootClientId,
    client_secret: who.secret ?? directory.rootClientSecret,
    scope: who.scope ?? `${directory.directoryUrl}/.default`,
    ...who.extra,
  }
  return send(
    directory,
    'POST',
    `${directory.authorityUrl}/${who.tenant ?? directory.tenantId}/oauth2/v2.0/token`,
    { form },
  )
}

/** Someone with tokens for both APIs. */
export type Actor = {
  directoryToken: string
  resourceManagerToken: string
  graph(method: string, path: string, json?: unknown): Promise<Answer>
  /** `api-version` is added. */
  arm(method: string, path: string, json?: unknown): Promise<Answer>
}

export async function actAs(directory: Directory, who: Who = {}): Promise<Actor> {
  const tokenOf = async (scope: string) =>
    String((await askToken(directory, { ...who, scope })).body.access_token)
  const directoryToken = await tokenOf(`${directory.directoryUrl}/.default`)
  const resourceManagerToken = await tokenOf(`${directory.resourceManagerUrl}/.default`)
  return {
    directoryToken,
    resourceManagerToken,
    graph: (method, path, json) =>
      send(directory, method, `${directory.directoryUrl}/v1.0${path}`, { token: directoryToken, json }),
    arm: (method, path, json) => {
      const url = `${directory.resourceManagerUrl}${path}${path.includes('?') ? '&' : '?'}api-version=2022-04-01`
      return send(directory, method, url, { token: resourceManagerToken, json })
    },
  }
}

export type Made = { id: string; appId: string; principalId: string; secret: string; keyId: string }

/** An application with a service principal that has a secret, created over the API. */
export async function makeCredential(actor: Actor, displayName = 'made'): Promise<Made> {
  const application = (await actor.graph('POST', '/applications', { displayName })).body
  const principal = (await actor.graph('POST', '/servicePrincipals', { appId: application.appId })).body
  const password = (await actor.graph('POST', `/servicePrincipals/${principal.id}/addPassword`, {})).body
  return {
    id: String(application.id),
    appId: String(application.appId),
    principalId: String(principal.id),
    secret: String(password.secretText),
    keyId: String(password.keyId),
  }
}

export const readerId = 'acdd72a7-3385-48ef-bd42-f606fba81ae7'
export const ownerId = '8e3af657-a8ff-443c-a75c-2fe8c4bcb635'

/** The path of a new assignment in the resource group `web`. */
export const newAssignmentPath = ({ subscriptionId }: Directory, name: string = randomUUID()) =>
  `/subscriptions/${subscriptionId}/resourceGroups/web/providers/Microsoft.Authorization/roleAssignments/${name}`

export const assignmentOf = (
  { subscriptionId }: Directory,
  principalId: string,
  {
    type = 'ServicePrincipal',
    definition = readerId,
  }: { type?: string | undefined; definition?: string } = {},
) => ({
  properties: {
    roleDefinitionId: `/subscriptions/${subscriptionId}/providers/Microsoft.Authorization/roleDefinitions/${definition}`,
    principalId,
    ...(type !== '' && { principalType: type }),
  },
})

/** The members of a list's page. */
export const itemsOf = ({ body }: Answer): Record<string, unknown>[] =>
  Array.isArray(body.value) ? body.value : []

export const filterPath = (path: string, filter: string) => `${path}?$filter=${encodeURIComponent(filter)}`
