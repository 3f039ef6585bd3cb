import { ApiError } from './api-error.ts'
import type { ApiParts } from './api-parts.ts'
import type { Call, Reply, Route } from './call.ts'
import { seenOf } from './consistency.ts'
import { mayCaller } from './directory-permissions.ts'
import { entityReply, listReply, readId, resourceMissing } from './graph-answers.ts'
import type { Application, Tenant } from './tenant.ts'
import { liveTrusts, makeTrust, type Trust } from './trusts.ts'

const mostTrusts = 20
const longestText = 600
const of =
  /^\/v1\.0\/applications(?:\/(?<id>[^/]+)|\(appId='(?<appId>[^']+)'\))\/federatedIdentityCredentials/.source
const one = String.raw`(?:\/(?<trust>[^/()]+)|\(name='(?<name>[^']+)'\))`

/** Federated identity credentials of applications. simulators/directory/README.md */
export function trustRoutes({ tenant, settings }: ApiParts): Route[] {
  const changed = (call: Call): Application => {
    const application = findApplication(tenant, call)
    mayCaller.changeHolder(call, application)
    return application
  }
  return [
    {
      operation: 'listFederatedCredentials',
      method: 'GET',
      path: new RegExp(`${of}$`),
      handle: (call) => {
        mayCaller.readApplications(call)
        const { trusts } = findApplication(tenant, call)
        return listReply(call, {
          context: 'applications/federatedIdentityCredentials',
          items: seenOf(call.view, trusts, 'changeToList'),
          properties: ({ id, name, issuer, subject }) => ({ id, name, issuer, subject }),
          names: ['id', 'name', 'issuer', 'subject'],
          show: showTrust,
          pageSize: settings().pageSize,
        })
      },
    },
    {
      operation: 'getFederatedCredential',
      method: 'GET',
      path: new RegExp(`${of}${one}$`),
      handle: (call) => {
        mayCaller.readApplications(call)
        const trust = named(call, seenOf(call.view, findApplication(tenant, call).trusts, 'changeToRead'))
        return trustReply(call, trust ?? missing(call), 200)
      },
    },
    {
      operation: 'createFederatedCredential',
      method: 'POST',
      path: new RegExp(`${of}$`),
      handle: (call) => trustReply(call, add(tenant, call, changed(call), call.body), 201),
    },
    {
      operation: 'updateFederatedCredential',
      method: 'PATCH',
      path: new RegExp(`${of}${one}$`),
      handle: (call) => update(tenant, call, changed(call)),
    },
    {
      operation: 'deleteFederatedCredential',
      method: 'DELETE',
      path: new RegExp(`${of}${one}$`),
      handle: (call) => {
        const trust = named(call, liveTrusts(changed(call))) ?? missing(call)
        trust.deletedAt = call.view.now
        return { status: 204 }
      },
    },
  ]
}

const trustReply = (call: Call, trust: Trust, status: number): Reply =>
  entityReply(call, {
    status,
    context: 'applications/federatedIdentityCredentials',
    entity: showTrust(trust),
  })

const showTrust = ({ id, name, issuer, subject, audiences, description }: Trust) => ({
  id,
  name,
  issuer,
  subject,
  description,
  audiences,
})

function findApplication(tenant: Tenant, { params }: Call): Application {
  const application =
    params.appId === undefined
      ? tenant.applications.get(readId(params.id))
      : tenant.applicationByAppId(readId(params.appId))
  if (
    application === undefined ||
    application.deletedAt !== undefined ||
    !tenant.applications.has(application.id)
  )
    throw resourceMissing(params.id ?? params.appId ?? '')
  return application
}

/** By name or id. */
const named = ({ params }: Call, trusts: readonly Trust[]): Trust | undefined =>
  trusts.find(({ id, name }) => name === (params.name ?? params.trust) || id === params.trust)

function missing({ params }: Call): never {
  throw resourceMissing(params.name ?? params.trust ?? '')
}

/** With `Prefer: create-if-missing` a name that does not exist is created. Graph: federatedidentitycredential-upsert */
function update(tenant: Tenant, call: Call, application: Application): Reply {
  const known = named(call, liveTrusts(application))
  const { name } = call.params
  if (known === undefined) {
    const mayCreate = String(call.headers.prefer ?? '')
      .split(/, */)
      .includes('create-if-missing')
    if (name === undefined || !mayCreate) return missing(call)
    return trustReply(call, add(tenant, call, application, { ...call.body, name }), 201)
  }
  const fields = readTrust({ ...showTrust(known), ...call.body, name: known.name })
  checkUnique(application, fields, known)
  // the token endpoint hears of the change as of a removal and an addition
  known.deletedAt = call.view.now
  const { id, seq, fixture } = known
  application.trusts.push(makeTrust({ ...fields, id, seq, fixture, createdAt: call.view.now }))
  return { status: 204 }
}

function add(
  tenant: Tenant,
  { view }: Call,
  application: Application,
  body: Readonly<Record<string, unknown>>,
): Trust {
  const fields = readTrust(body)
  checkUnique(application, fields)
  if (liveTrusts(application).length >= mostTrusts)
    throw badRequest(`The maximum number of federated identity credentials per application is ${mostTrusts}.`)
  const trust = makeTrust({ ...fields, seq: tenant.nextSeq(), createdAt: view.now })
  application.trusts.push(trust)
  return trust
}

type Fields = Pick<Trust, 'name' | 'issuer' | 'subject' | 'audiences' | 'description'>

function readTrust(body: Readonly<Record<string, unknown>>): Fields {
  const { name, issuer, subject, audiences, description = null } = body
  if (typeof name !== 'string' || !/^[a-z0-9][a-z0-9_-]{2,119}$/i.test(name)) throw invalidValue('name')
  if (!isText(issuer) || !URL.canParse(issuer)) throw invalidValue('issuer')
  if (!isText(subject)) throw invalidValue('subject')
  if (!Array.isArray(audiences) || audiences.length !== 1 || !isText(audiences[0]))
    throw invalidValue('audiences')
  if (description !== null && !isText(description)) throw invalidValue('description')
  return { name, issuer, subject, audiences: [audiences[0]], description }
}

const isText = (value: unknown): value is string =>
  typeof value === 'string' && value.length >= 1 && value.length <= longestText

function checkUnique(application: Application, fields: Fields, except?: Trust): void {
  const others = liveTrusts(application).filter((other) => other !== except)
  const text = others.some(({ name }) => name === fields.name)
    ? `FederatedIdentityCredential with name ${fields.name} already exists.`
    : others.some(({ issuer, subject }) => issuer === fields.issuer && subject === fields.subject)
      ? `FederatedIdentityCredential with issuer ${fields.issuer} and subject ${fields.subject} already exists.`
      : undefined
  if (text !== undefined) throw new ApiError(409, 'Request_MultipleObjectsWithSameKeyValue', text)
}

const badRequest = (message: string) => new ApiError(400, 'Request_BadRequest', message)

const invalidValue = (name: string) =>
  badRequest(`Invalid value specified for property '${name}' of resource 'FederatedIdentityCredential'.`)
