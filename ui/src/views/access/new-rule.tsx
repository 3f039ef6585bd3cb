import { useState } from 'react'
import { Button } from '../../components/button.tsx'
import { Picker } from '../../components/picker.tsx'
import { strings } from '../../strings.ts'
import { pathsIn, usePlaces } from './places.ts'
import { ruleText } from './rules.ts'

const text = strings.access.rules

const capabilities = ['create', 'read', 'update', 'patch', 'delete', 'list', 'scan', 'sudo', 'deny']
const choiceOf = (name: string) => ({ id: name, label: name })

/** Writes rules for paths that are completed from the mounts. */
export function NewRule({ onRules }: { readonly onRules: (added: string) => void }) {
  const places = usePlaces()
  const [paths, setPaths] = useState<readonly string[]>([])
  const [granted, setGranted] = useState<readonly string[]>([])
  const add = () => {
    onRules(paths.map((path) => ruleText(path, granted)).join(''))
    setPaths([])
    setGranted([])
  }
  return (
    <fieldset className="new-rule">
      <legend>{text.add}</legend>
      <Picker
        label={text.paths}
        hint={text.pathsHint}
        choices={places && pathsIn(places).map(choiceOf)}
        allowsOther
        value={paths}
        onChange={setPaths}
      />
      <Picker
        label={text.capabilities}
        choices={capabilities.map(choiceOf)}
        value={granted}
        onChange={setGranted}
      />
      <div className="actions">
        <Button isDisabled={paths.length === 0 || granted.length === 0} onPress={add}>
          {text.insert}
        </Button>
      </div>
    </fieldset>
  )
}
