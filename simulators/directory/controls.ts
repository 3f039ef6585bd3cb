import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { z } from 'zod'
import type { Directory } from './directory.ts'
import { faultFields } from './fault-fields.ts'
import { operations, services } from './operations.ts'

export type Controls = AsyncDisposable & { url: string }

const host = '127.0.0.1'
const bodyLimit = 1_048_576
const text = z.string().min(1)

const inUse = z.strictObject({
  client_ids: z.array(z.string()).optional(),
  secrets: z.array(z.string()).optional(),
  trusts: z.array(z.string()).optional(),
  key_ids: z.array(z.string()).optional(),
})
const nameFields = z.strictObject({ name: text })
const groupFields = nameFields.extend({
  kind: z.enum(['assigned', 'dynamic', 'on-premises', 'role-assignable']).optional(),
})
const ownerFields = z.strictObject({ application_id: text, service_principal_id: text })
const definitionFields = z.strictObject({ role_name: text, actions: z.array(z.string()).optional() })
const applicationFields = z.strictObject({
  name: text,
  tags: z.array(z.string()).optional(),
  sign_in_audience: z.string().optional(),
})
const trustFields = z.strictObject({
  application_id: text,
  issuer: text,
  subject: text,
  audience: text.optional(),
  name: text.optional(),
})
const certificateFields = z.strictObject({ application_id: text, certificate: text, name: text.optional() })
const idFields = z.strictObject({ id: text })
const outage = z.strictObject({ service: z.enum(services).optional() })

type Act = (body: Record<string, unknown>, query: URLSearchParams) => unknown

/**
 * The control port: JSON over plain HTTP, for curl or tests in another process.
 * simulators/directory/README.md
 */
export async function startControls(directory: Directory, port = 0): Promise<Controls> {
  const acts = actsOf(directory)
  const server = createServer((request, response) => void answer(acts, request, response))
  server.listen(port, host)
  await once(server, 'listening')
  // a TCP server that listens has an AddressInfo
  const { port: bound } = server.address() as AddressInfo
  return {
    url: `http://${host}:${bound}`,
    [Symbol.asyncDispose]: async () => {
      const closed = once(server, 'close')
      server.close()
      server.closeAllConnections()
      await closed
    },
  }
}

function actsOf(directory: Directory): Record<string, Act> {
  return {
    'GET /': () => describe(directory),
    'GET /settings': () => directory.settings,
    // `change` validates the settings
    'POST /settings': (body) => {
      directory.change(body)
      return directory.settings
    },
    'POST /faults': (body) => directory.fault(faultFields.parse(body)),
    'DELETE /faults': () => directory.clearFaults(),
    'POST /release': () => directory.release(),
    'POST /clock': (body) =>
      directory.advance(z.strictObject({ advance_seconds: z.number() }).parse(body).advance_seconds),
    'POST /down': (body) => directory.goDown(outage.parse(body).service),
    'POST /up': (body) => directory.comeBack(outage.parse(body).service),
    'GET /inventory': () => directory.inventory(),
    'POST /debris': (body) => {
      const { client_ids: clientIds, key_ids: keyIds, ...rest } = inUse.parse(body)
      return directory.debris({ clientIds, keyIds, ...rest })
    },
    'GET /journal': (_, query) =>
      directory.journal.entries({
        ...(query.has('operation') && { operation: z.enum(operations).parse(query.get('operation')) }),
        ...(query.has('service') && { service: z.enum(services).parse(query.get('service')) }),
      }),
    'DELETE /journal': () => directory.journal.clear(),
    'POST /groups': (body) => {
      const { name, kind } = groupFields.parse(body)
      return directory.admin.addGroup(name, kind)
    },
    'POST /owners': (body) => {
      const { application_id, service_principal_id } = ownerFields.parse(body)
      return directory.admin.addOwner(application_id, service_principal_id)
    },
    'POST /resource-groups': (body) => directory.admin.addResourceGroup(nameFields.parse(body).name),
    'POST /role-definitions': (body) => {
      const { role_name: roleName, actions } = definitionFields.parse(body)
      return directory.admin.addRoleDefinition({ roleName, ...(actions && { actions }) })
    },
    'POST /applications': (body) => {
      const { name, tags, sign_in_audience: signInAudience } = applicationFields.parse(body)
      return directory.admin.addApplication({
        displayName: name,
        ...(tags && { tags }),
        ...(signInAudience !== undefined && { signInAudience }),
      })
    },
    'POST /trusts': (body) => {
      const { application_id, audience, name, ...fields } = trustFields.parse(body)
      return directory.admin.addTrust(application_id, {
        ...fields,
        ...(audience !== undefined && { audience }),
        ...(name !== undefined && { name }),
      })
    },
    'POST /certificates': (body) => {
      const { application_id, certificate, name } = certificateFields.parse(body)
      return directory.admin.addCertificate(application_id, certificate, {
        ...(name !== undefined && { displayName: name }),
      })
    },
    'POST /remove': (body) => directory.admin.remove(idFields.parse(body).id),
    'POST /purge': (body) => directory.admin.purge(idFields.parse(body).id),
  }
}

/** The addresses and credentials that point a program at the stand-in. */
const describe = (directory: Directory) => ({
  authority_url: directory.authorityUrl,
  directory_url: directory.directoryUrl,
  resource_manager_url: directory.resourceManagerUrl,
  metadata_url: directory.metadataUrl,
  identity_endpoint: directory.identityEndpoint,
  identity_header: directory.identityHeader,
  system_assigned_identity: directory.systemAssignedIdentity,
  user_assigned_identities: directory.userAssignedIdentities,
  control_url: directory.controlUrl,
  ca_file: directory.caFile,
  tenant_id: directory.tenantId,
  subscription_id: directory.subscriptionId,
  client_id: directory.rootClientId,
  client_secret: directory.rootClientSecret,
  application_id: directory.rootApplicationId,
  groups: directory.groupIds,
  orders: directory.orders,
})

async function answer(
  acts: Record<string, Act>,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const url = URL.parse(request.url ?? '/', `http://${host}`)
  const act = acts[`${request.method} ${url?.pathname}`]
  try {
    const body = await readObject(request)
    if (act === undefined || url === null) send(response, 404, { error: 'not found' })
    else send(response, 200, (await act(body, url.searchParams)) ?? { ok: true })
  } catch (error) {
    send(response, 400, {
      error:
        error instanceof z.ZodError
          ? z.prettifyError(error)
          : error instanceof Error
            ? error.message
            : 'bad request',
    })
  }
}

function send(response: ServerResponse, status: number, body: unknown): void {
  if (response.destroyed) return
  response.writeHead(status, { 'content-type': 'application/json' }).end(`${JSON.stringify(body, null, 2)}\n`)
}

async function readObject(request: IncomingMessage): Promise<Record<string, unknown>> {
  let text = ''
  for await (const chunk of request.setEncoding('utf8')) {
    text += chunk
    if (text.length > bodyLimit) throw new Error('the body is too long')
  }
  return z.record(z.string(), z.unknown()).parse(text.trim() === '' ? {} : JSON.parse(text))
}
