# Completion of penstock's commands, options, keys and names for Fish. The command penstock completion fish prints it.

# The program that the line starts, else that of $PATH.
function __penstock_program
    set -l program (string replace -r '^~/' "$HOME/" -- $argv[1])
    set -l found (string match -r '^\$([A-Za-z_]\w*)(/.*)$' -- $program)
    and set program "$$found[2]$found[3]"
    command -q -- $program
    or set program penstock
    echo -- $program
end

function __penstock_complete
    set -l words (commandline -opc)
    set -l typed (commandline -ct)
    set -l word (string unescape -- "$typed")
    or set word (string trim -l -c '\'"' -- "$typed")
    # A path after a key or an option and = is completed for itself.
    set -l begun (string match -r '^.*=' -- $word)
    set -l path (string replace -r '^.*=' '' -- $word)
    set -l program (__penstock_program $words[1])
    for answer in ($program __complete $words[2..-1] "$word" 2>/dev/null)
        switch $answer
            case :files
                for file in (__fish_complete_path "$path")
                    echo -- "$begun$file"
                end
            case :folders
                for folder in (__fish_complete_directories "$path")
                    echo -- "$begun$folder"
                end
            case '*'
                echo -- $answer
        end
    end
end

complete -c penstock -f -a '(__penstock_complete)'
