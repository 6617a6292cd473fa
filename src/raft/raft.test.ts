import { scenarios } from '../testing/datadriven.ts'
import { Scripted } from './scripted.ts'

scenarios(import.meta.url, () => {
  const scripted = new Scripted()
  return (command) => scripted.run(command)
})
