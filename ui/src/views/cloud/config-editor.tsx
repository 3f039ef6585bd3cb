import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { announce } from '../../components/announce.tsx'
import { Button } from '../../components/button.tsx'
import { errorOfField, Failure } from '../../components/failure.tsx'
import { Field } from '../../components/field.tsx'
import { Select } from '../../components/select.tsx'
import { isDuration, typedDuration } from '../../components/time.tsx'
import { useUnsaved } from '../../components/unsaved.ts'
import { useAction } from '../../components/use-action.ts'
import { strings } from '../../strings.ts'
import { writeConfig } from './calls.ts'

const text = strings.cloud

type Props = {
  readonly mount: string
  readonly stored: Readonly<Record<string, unknown>>
  readonly onDone: () => void
}

const fields = [
  'tenant_id',
  'subscription_id',
  'client_id',
  'identity_token_audience',
  'managed_identity_client_id',
  'environment',
  'rotation_period',
] as const

const typed = (name: string, value: unknown): string =>
  isDuration(name, value) ? typedDuration(value) : String(value ?? '')

/** Changes the root credential. A field that stays as it is is not sent. */
export function ConfigEditor({ mount, stored, onDone }: Props) {
  const client = useQueryClient()
  const before = Object.fromEntries(fields.map((name) => [name, typed(name, stored[name])]))
  const [values, setValues] = useState<Readonly<Record<string, string>>>(before)
  const [secret, setSecret] = useState('')
  const storedWay = typeof stored['auth_type'] === 'string' ? stored['auth_type'] : ''
  const [way, setWay] = useState(storedWay)
  const usesSecret = way === '' || way === 'root_creds'
  useUnsaved([values, secret, way])
  const [error, setError] = useState<unknown>()
  const save = useAction(async () => {
    const changed = fields.flatMap((name) =>
      values[name] === before[name] ? [] : [[name, values[name]?.trim() ?? ''] as const],
    )
    try {
      await writeConfig({
        params: { cloud_mount_path: mount },
        body: {
          ...Object.fromEntries(changed),
          ...(way !== storedWay && { auth_type: way }),
          // no other way to sign in keeps a secret
          ...(usesSecret ? secret !== '' && { client_secret: secret } : { client_secret: '' }),
        },
      })
      for (const key of ['cloud-config', 'cloud-check', 'cloud-identity'])
        await client.invalidateQueries({ queryKey: [key, mount] })
      await client.invalidateQueries({ queryKey: ['history'] })
      announce(strings.saved)
      onDone()
    } catch (refusal) {
      setError(refusal)
    }
  })
  const named = [...fields, 'client_secret'].some((name) => errorOfField(error, name) !== undefined)
  return (
    <form className="stack" autoComplete="off" onSubmit={(event) => void save(event)}>
      <Select
        label={text.signIn}
        value={way}
        onChange={setWay}
        options={['', ...Object.keys(text.signIns)].map((name) => [name, name === '' ? text.usualWay : name])}
      />
      {way !== '' && <p className="hint">{text.signIns[way]}</p>}
      {fields.map((name) => (
        <Field
          key={name}
          label={text.fields[name]}
          hint={text.fieldHints[name]}
          mono
          value={values[name] ?? ''}
          error={errorOfField(error, name)}
          onChange={(value) => setValues((before) => ({ ...before, [name]: value }))}
        />
      ))}
      {usesSecret && (
        <Field
          label={text.fields.client_secret}
          hint={text.fieldHints.client_secret}
          type="password"
          mono
          value={secret}
          error={errorOfField(error, 'client_secret')}
          onChange={setSecret}
        />
      )}
      {!named && <Failure error={error} />}
      <div className="actions">
        <Button kind="primary" type="submit">
          {text.save}
        </Button>
        <Button onPress={onDone}>{strings.cancel}</Button>
      </div>
    </form>
  )
}
