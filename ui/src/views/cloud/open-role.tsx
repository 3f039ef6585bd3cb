import { useState } from 'react'
import { Button } from '../../components/button.tsx'
import { Field } from '../../components/field.tsx'
import { useCapabilities } from '../../shell/capabilities.ts'
import { useGo } from '../../shell/use-place.tsx'
import { strings } from '../../strings.ts'

const text = strings.cloud

/** Opens a role that no list shows, or begins a new one. */
export function OpenRole({ mount }: { readonly mount: string }) {
  const go = useGo()
  const [name, setName] = useState('')
  const role = name.trim().toLowerCase()
  const asked = `${mount}/roles/${role === '' ? 'x' : role}`
  const { can } = useCapabilities([asked])
  return (
    <form
      className="one-line"
      onSubmit={(event) => {
        event.preventDefault()
        go({ view: 'cloud', parts: [mount, 'roles', role] })
      }}
    >
      <Field
        label={can(asked, 'create') ? text.openOrCreate : text.openRole}
        isRequired
        value={name}
        onChange={setName}
        mono
      />
      <Button type="submit">{text.open}</Button>
    </form>
  )
}
