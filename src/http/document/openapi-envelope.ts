import type { DocumentedAnswer } from '../resource/documented-route.ts'
import { type Schema, text, texts, wholeSeconds, withOptionalMaps } from './openapi-schema.ts'

type Form = Exclude<DocumentedAnswer['form'], 'bare' | 'page' | 'file' | 'text'>

/** An object schema; all properties are required, except `optional`. */
const whole = (properties: Readonly<Record<string, Schema>>, optional: readonly string[] = []): Schema =>
  withOptionalMaps({
    type: 'object',
    required: Object.keys(properties).filter((name) => !optional.includes(name)),
    properties,
    additionalProperties: true,
  })

/** Schemas shared by the responses of all operations. docs/contract/http.md */
export const sharedSchemas = {
  Auth: whole(
    {
      client_token: { ...text, description: 'The token; send it as X-Vault-Token' },
      accessor: { ...text, description: 'Can look up or revoke the token, but not use it' },
      policies: { ...texts, description: 'All policies of the token and its entity' },
      token_policies: { ...texts, description: 'Policies of the token itself' },
      identity_policies: { ...texts, description: 'Policies of its entity and groups' },
      metadata: {
        type: ['object', 'null'],
        additionalProperties: text,
        description: 'Facts about the caller from the login',
      },
      lease_duration: wholeSeconds('How long the token lives'),
      renewable: { type: 'boolean', description: 'Whether the token can be renewed' },
      entity_id: { ...text, description: 'Entity the token belongs to; empty for none' },
      token_type: {
        type: 'string',
        enum: ['service', 'batch'],
        description: 'Whether the token is stored or is its own record',
      },
      orphan: { type: 'boolean', description: 'Whether the token survives the revocation of its parent' },
      num_uses: { type: 'integer', description: 'Remaining uses; 0 means no limit' },
    },
    ['token_policies', 'identity_policies'],
  ),
  WrapInfo: whole(
    {
      token: { ...text, description: 'Unwraps the response, once' },
      accessor: { ...text, description: 'Accessor of the wrapping token' },
      ttl: wholeSeconds('How long the answer is kept'),
      creation_time: { type: 'string', format: 'date-time', description: 'When the response was wrapped' },
      creation_path: { ...text, description: 'Path whose response is wrapped' },
      wrapped_accessor: { ...text, description: 'Accessor of the token in the wrapped response' },
    },
    ['wrapped_accessor'],
  ),
  Errors: {
    type: 'object',
    required: ['errors'],
    additionalProperties: true,
    properties: {
      errors: { ...texts, description: 'Error texts; may be empty' },
      request_id: { type: 'string', format: 'uuid', description: 'For a refused login: its id in the log' },
    },
  },
} satisfies Record<string, Schema>

const requestId = '0c2a8f4e-6f0b-4f3a-9a51-0f6f2f4b7a10'

/** Responses shared by operations. */
export const sharedResponses = {
  Accepted: { description: 'The work continues in the background; the body, if any, is an envelope' },
  Done: { description: 'Done; no body' },
  NotModified: { description: 'The copy of the client is current' },
  Error: {
    description: 'The error',
    content: {
      'application/json': {
        schema: { $ref: '#/components/schemas/Errors' },
        example: { errors: ['permission denied'] },
      },
    },
  },
} as const

/**
 * The schema of an enveloped response as one flat object. Of `data`, `auth` and `wrap_info`, it omits those
 * that are always null in responses of this form, so that generated types need no check for them.
 */
export function envelopeOf(form: Form, data: Schema | undefined): Schema {
  return whole({
    request_id: { ...text, description: 'Id of the request' },
    lease_id: { ...text, description: 'Lease of what was issued; empty for none' },
    renewable: { type: 'boolean', description: 'Whether the lease can be renewed' },
    lease_duration: wholeSeconds('How long the lease lasts'),
    ...(data === undefined ? {} : { data }),
    ...(form === 'auth' ? { auth: { $ref: '#/components/schemas/Auth' } } : {}),
    ...(form === 'wrapped' ? { wrap_info: { $ref: '#/components/schemas/WrapInfo' } } : {}),
    warnings: { type: ['array', 'null'], items: text, description: 'Warnings for the caller' },
    mount_type: { ...text, description: 'Type of the mount that responded' },
  })
}

/** An enveloped response around `data`, as on the wire. */
export function exampleEnvelope(form: Form, data: unknown, mountType: string): object {
  const envelope = {
    request_id: requestId,
    lease_id: '',
    renewable: false,
    lease_duration: 0,
    data: data ?? null,
    warnings: null,
  }
  if (form === 'auth') return { ...envelope, wrap_info: null, auth: exampleAuth, mount_type: mountType }
  if (form === 'wrapped')
    return { ...envelope, request_id: '', wrap_info: exampleWrapInfo, auth: null, mount_type: '' }
  return { ...envelope, wrap_info: null, auth: null, mount_type: mountType }
}

const exampleAuth = {
  client_token: 'hvs.2yE8wZkXc9sVb3RtQ6nLfJ1h',
  accessor: 'hmac8Xn2s7Lq0vYpTr4KdE1b',
  policies: ['default', 'deploy'],
  token_policies: ['default', 'deploy'],
  metadata: { role: 'ci' },
  lease_duration: 3600,
  renewable: true,
  entity_id: 'c1f5bd07-3c0a-4b52-8e5e-7b3b0f6b1f7d',
  token_type: 'service',
  orphan: true,
  mfa_requirement: null,
  num_uses: 0,
}

const exampleWrapInfo = {
  token: 'hvs.2yE8wZkXc9sVb3RtQ6nLfJ1h',
  accessor: 'hmac8Xn2s7Lq0vYpTr4KdE1b',
  ttl: 60,
  creation_time: '2026-01-01T12:00:00.5Z',
  creation_path: 'sys/wrapping/wrap',
}
